"""A fitted step-time model as a document: what sessions keep, files carry and commands read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.calibration.calibrated import Calibration
from core.errors import RecordError
from core.records import StepCost
from core.records.plain import from_plain, to_plain
from core.simulation.step_times import PrefillCost

MODEL_FORMAT = 1
"""Version of the document; raised when a reader of the older one would be wrong."""


@dataclass(frozen=True)
class StepModel:
    """Step times to compute with; prefill None: prompts are assumed in proportion.

    spread : how far off the steps are, as a share (see Calibration); None: not known

    Raises RecordError where sizes do not ascend, or a time is below 0.
    """

    name: str
    cost: StepCost
    prefill: PrefillCost | None = None
    spread: float | None = None
    format: int = MODEL_FORMAT

    def __post_init__(self) -> None:
        cost = self.cost
        curves = (cost.replay_us, cost.eager_us, cost.capture_ms)
        if len(cost.sizes) == 0 or any(len(curve) != len(cost.sizes) for curve in curves):
            raise RecordError(f"{self.name}: each of its {len(cost.sizes)} sizes needs its times.")
        if cost.sizes[0] < 1 or (np.diff(cost.sizes) <= 0).any():
            raise RecordError(f"{self.name}: sizes must ascend from 1 or more.")
        if any((curve < 0).any() for curve in curves) or (cost.replay_us <= 0).any():
            raise RecordError(f"{self.name}: a time is below 0; fit the model again.")


def model_of(found: Calibration) -> StepModel:
    """What a calibration found, with no more points than its curves have corners."""
    return StepModel(found.name, with_corners_only(found.cost), found.prefill, found.spread)


def with_corners_only(cost: StepCost) -> StepCost:
    """The same curves through fewer points: those on a straight line between others go."""
    keep = np.ones(len(cost.sizes), bool)
    if len(cost.sizes) > 2:
        keep[1:-1] = False
        for curve in (cost.replay_us, cost.eager_us, cost.capture_ms):
            slopes = np.diff(curve) / np.diff(cost.sizes)
            keep[1:-1] |= ~np.isclose(slopes[1:], slopes[:-1], rtol=1e-6, atol=1e-9)
    return replace(
        cost,
        sizes=cost.sizes[keep],
        replay_us=cost.replay_us[keep],
        eager_us=cost.eager_us[keep],
        capture_ms=cost.capture_ms[keep],
    )


def model_to_json(model: StepModel) -> dict[str, Any]:
    """The document as plain JSON types."""
    return to_plain(model)


def model_from_json(data: Any, where: str = "step-time model") -> StepModel:
    """Raises RecordError (another format or shape), SettingError (values of the prefill)."""
    found = data.get("format") if isinstance(data, Mapping) else None
    if isinstance(data, Mapping) and found != MODEL_FORMAT:
        raise RecordError(
            f"{where}: format is {found!r}, this version reads {MODEL_FORMAT}; fit it again."
        )
    return from_plain(StepModel, data, where)


def is_model(data: Any) -> bool:
    """Whether a JSON document is a step-time model rather than a profile."""
    return isinstance(data, Mapping) and {"cost", "prefill", "format"} <= set(data)
