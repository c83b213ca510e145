"""A sweep as a document: the engine, its costs, the bucket sets and the loads; not the requests."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import RecordError, SettingError
from core.records import BucketSet, GraphMemory, PoolPolicy, StepCost, normalised_sizes
from core.records.plain import from_plain, to_plain
from core.records.sweep import SweepRow
from core.simulation.machine import Machine
from core.simulation.step_times import PrefillCost

SWEEP_FORMAT = 1
"""Version of the document; raised when a reader of the older one would be wrong."""

LOADS = (0.5, 1.0, 2.0, 4.0)
MAX_POINTS = 4096


@dataclass(frozen=True)
class SweepSet:
    """A named list of capture sizes; none: every step runs eager."""

    name: str
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.sizes:
            object.__setattr__(self, "sizes", normalised_sizes(self.sizes))


EAGER = SweepSet("eager")


@dataclass(frozen=True)
class SweepPoint:
    """One run: a set under a load."""

    load: float
    set: SweepSet

    @property
    def text(self) -> str:
        return f"{self.set.name} at load x{self.load:g}"


@dataclass(frozen=True, eq=False)
class SweepSpec:
    """What to serve the requests with; one run for each load and set.

    sets : served under every load
    sets_by_load : for each load sets of its own, served beside them: each load has its own steps

    machine : with the KV cache there would be without graphs
    num_requests : how many requests the trace holds
    loads : factors on the arrival rate, or in a closed loop on the number in flight
    base_load : how many times as fast as in the trace requests arrive at load 1
    concurrency : closed loop, so many requests in flight at load 1; None: as they arrive
    prefix_hit_rate : share of every prompt that is cached; None: as the trace says
    ttft_limit_s, tpot_limit_s : what a request must keep to count as goodput; None: no limit
    Raises SettingError or CaptureSizesError.
    """

    machine: Machine
    cost: StepCost
    memory: GraphMemory
    kv_bytes_per_token: float
    sets: tuple[SweepSet, ...]
    num_requests: int
    loads: tuple[float, ...] = LOADS
    policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST
    prefill: PrefillCost | None = None
    base_load: float = 1.0
    concurrency: int | None = None
    prefix_hit_rate: float | None = None
    ttft_limit_s: float | None = None
    tpot_limit_s: float | None = None
    sets_by_load: tuple[tuple[SweepSet, ...], ...] = ()
    format: int = SWEEP_FORMAT

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_curve("cost", self.cost.sizes, self.cost.replay_us, self.cost.eager_us)
        _check_curve("memory", self.memory.sizes, self.memory.pool_bytes, self.memory.graph_bytes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SweepSpec) and sweep_to_json(self) == sweep_to_json(other)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def points(self) -> tuple[SweepPoint, ...]:
        """All runs in their order: load by load, and within one the sets as given."""
        return tuple(SweepPoint(load, item) for load in self.loads for item in self.sets_at(load))

    def sets_at(self, load: float) -> tuple[SweepSet, ...]:
        """The sets served under one of the loads, those of its own last."""
        own = self.sets_by_load[self.loads.index(load)] if self.sets_by_load else ()
        return (*self.sets, *own)

    @property
    def key(self) -> str:
        """The same for the same content: 64 hex digits."""
        text = json.dumps(sweep_to_json(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def sweep_sets(sets: Sequence[BucketSet | None]) -> tuple[SweepSet, ...]:
    """Bucket sets as a sweep takes them; None is no graphs at all."""
    return tuple(EAGER if item is None else SweepSet(item.name, item.sizes) for item in sets)


def sweep_to_json(spec: SweepSpec) -> dict[str, Any]:
    """The document as plain JSON types."""
    return to_plain(spec)


def sweep_from_json(data: Any, where: str = "sweep") -> SweepSpec:
    """Raises RecordError (another format or shape), SettingError or CaptureSizesError (values)."""
    found = data.get("format") if isinstance(data, Mapping) else None
    if isinstance(data, Mapping) and (found != SWEEP_FORMAT or isinstance(found, bool)):
        raise RecordError(
            f"{where}: format is {found!r}, this version reads {SWEEP_FORMAT}; update Bucketwise, "
            "or send the sweep again."
        )
    return from_plain(SweepSpec, data, where)


def sweep_row_from_json(data: Any, where: str = "row") -> SweepRow:
    """Raises RecordError."""
    return from_plain(SweepRow, data, where)


def _check_choices(spec: SweepSpec) -> None:
    _check_sets(spec)
    if spec.num_requests < 1:
        raise SettingError("The trace holds no request; there is nothing to sweep.")
    positive = {f"load {load!r}": load for load in spec.loads}
    positive |= {
        name: getattr(spec, name)
        for name in (
            *("kv_bytes_per_token", "base_load", "concurrency", "ttft_limit_s", "tpot_limit_s"),
        )
        if getattr(spec, name) is not None
    }
    for name, value in positive.items():
        if not (math.isfinite(value) and value > 0):
            raise SettingError(f"{name} is {value}; it must be above 0.")
    if spec.prefix_hit_rate is not None and not 0.0 <= spec.prefix_hit_rate <= 1.0:
        raise SettingError(f"prefix_hit_rate is {spec.prefix_hit_rate}; it must be from 0 to 1.")


def _check_sets(spec: SweepSpec) -> None:
    _check_once("load", spec.loads)
    if spec.sets_by_load and len(spec.sets_by_load) != len(spec.loads):
        raise SettingError(
            f"The sweep has sets of their own for {len(spec.sets_by_load)} loads and "
            f"{len(spec.loads)} loads; give sets for each load."
        )
    if not spec.loads or not all(spec.sets_at(load) for load in spec.loads):
        raise SettingError("A sweep needs at least one bucket set and one load.")
    if len(spec.points) > MAX_POINTS:
        raise SettingError(
            f"A sweep of {len(spec.points):,} runs under {len(spec.loads):,} loads is too long; "
            f"{MAX_POINTS} runs are the most."
        )
    for load in spec.loads:
        _check_once("set", [item.name for item in spec.sets_at(load)])


def _check_once(label: str, values: Sequence[object]) -> None:
    double = next((v for i, v in enumerate(values) if v in values[:i]), None)
    if double is not None:
        raise SettingError(f"The sweep holds {label} {double!r} twice; give each once.")


def _check_curve(label: str, sizes: Any, *curves: Any) -> None:
    if len(sizes) == 0 or any(len(curve) != len(sizes) for curve in curves):
        raise SettingError(f"The sweep's {label} has {len(sizes)} sizes; each needs its values.")
    if sizes[0] < 1 or (np.diff(sizes) <= 0).any() or any((curve < 0).any() for curve in curves):
        raise SettingError(
            f"The sweep's {label} must be of ascending sizes from 1 on, with values of 0 or more."
        )
