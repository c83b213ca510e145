"""The frozen records that cross borders between readers, calculations, worker and pages.

Numbers and text only, never tensors: the front end reads every record without torch.
Arrays are numpy, one-dimensional, and are never written to after construction.
"""

from core.records.cost import (
    GraphMemory,
    PoolPolicy,
    StepCost,
)
from core.records.engine import (
    EngineFacts,
    EngineSpec,
    GraphGroup,
    Phase,
)
from core.records.json import (
    engine_from_json,
    profile_from_json,
    row_from_json,
    spec_from_json,
    to_json_dict,
)
from core.records.measuring import (
    PROFILE_FORMAT,
    CaptureMode,
    DeviceInfo,
    MeasureRow,
    MeasureSpec,
    ModelShape,
    Profile,
)
from core.records.origin import (
    FloatArray,
    Grade,
    IntArray,
    Origin,
    SizeUnit,
)
from core.records.traffic import (
    BucketSet,
    LengthHistogram,
    StepHistogram,
    Trace,
    normalised_sizes,
)

__all__ = [
    "BucketSet",
    "CaptureMode",
    "DeviceInfo",
    "EngineFacts",
    "EngineSpec",
    "FloatArray",
    "Grade",
    "GraphGroup",
    "GraphMemory",
    "IntArray",
    "LengthHistogram",
    "MeasureRow",
    "MeasureSpec",
    "ModelShape",
    "Origin",
    "PROFILE_FORMAT",
    "Phase",
    "PoolPolicy",
    "Profile",
    "SizeUnit",
    "StepCost",
    "StepHistogram",
    "Trace",
    "engine_from_json",
    "normalised_sizes",
    "profile_from_json",
    "row_from_json",
    "spec_from_json",
    "to_json_dict",
]
