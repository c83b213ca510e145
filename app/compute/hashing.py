"""Names for the content of records, so that a cached answer is never that of another input."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from app.calibrating.choice import CalibrationChoice
from app.deciding.best_choice import BestChoice
from app.inputs.cost_choice import CostChoice
from app.inputs.engine_choice import EngineChoice
from app.inputs.memory_choice import MemoryChoice
from core.buckets import Frontier, Limits
from core.readers import ReadOptions
from core.records import (
    BucketSet,
    GraphMemory,
    Profile,
    StepCost,
    StepHistogram,
    Trace,
)
from core.simulate import Machine, PrefillCost

_PROFILES: dict[int, tuple[weakref.ref[Profile], str]] = {}
"""Digests by the identity of profiles that are still there: each has a thousand numbers, is never
changed, and is asked about several times a run."""


def _update(digest: Any, value: Any) -> None:
    digest.update(type(value).__name__.encode())
    if isinstance(value, Profile):
        digest.update(_profile_digest(value).encode())
    else:
        _update_with(digest, value)


def _profile_digest(profile: Profile) -> str:
    """The same as of any record, worked out once an object."""
    kept = _PROFILES.get(id(profile))
    if kept is not None and kept[0]() is profile:
        return kept[1]
    digest = hashlib.sha256()
    _update_with(digest, profile)
    name, key = digest.hexdigest(), id(profile)
    _PROFILES[key] = weakref.ref(profile, lambda _: _PROFILES.pop(key, None)), name
    return name


def _update_with(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(
            f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
        )
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            digest.update(item.name.encode())
            _update(digest, getattr(value, item.name))
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            _update(digest, key)
            _update(digest, value[key])
    elif isinstance(value, (list, tuple)):
        digest.update(str(len(value)).encode())
        for item in value:
            _update(digest, item)
    elif isinstance(value, bytes):
        digest.update(value)
    elif isinstance(value, Enum):
        digest.update(str(value.value).encode())
    else:
        digest.update(repr(value).encode())


def content_digest(value: Any) -> str:
    """A name for the content of a record, an array, bytes or plain values."""
    digest = hashlib.sha256()
    _update(digest, value)
    return digest.hexdigest()


HASH: dict[str | type, Any] = {
    cls: content_digest
    for cls in (
        BestChoice,
        BucketSet,
        CalibrationChoice,
        CostChoice,
        EngineChoice,
        Frontier,
        GraphMemory,
        Limits,
        Machine,
        PrefillCost,
        MemoryChoice,
        Profile,
        ReadOptions,
        StepCost,
        StepHistogram,
        Trace,
    )
}
