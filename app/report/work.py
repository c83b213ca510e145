"""What a report is made from: the choices and data of one browser session, frozen.

Gathered while a page is drawn, which costs next to nothing; the report itself is made later, in a
thread that knows no session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app import compute, state
from app.charts.serving import Served
from app.deciding.best_choice import BestChoice
from app.inputs.engine_choice import EngineChoice
from app.inputs.memory_choice import MemoryChoice
from app.study import StudyChoice
from app.workload.traffic import Traffic
from core.records import BucketSet, Profile, StepHistogram


@dataclass(frozen=True)
class ChosenSet:
    """A compared set; engine: the one whose own list it is."""

    bucket_set: BucketSet
    colour: str
    engine: EngineChoice | None


@dataclass(frozen=True)
class ExportChoice:
    """Which set goes into which engine."""

    set_name: str
    engine: str
    version: str | None
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class PayBack:
    """How the break-even page weighs: which set, how long engines run, capture or restore."""

    set_name: str
    uptime_s: float
    restore_ms: float | None


@dataclass(frozen=True)
class ServedRuns:
    """The runs that the Serve page shows with the present settings.

    kv_words : how large their KV cache is before graphs, and who says so
    """

    runs: tuple[Served, ...]
    kv_words: str
    ttft_limit_ms: float
    tpot_limit_ms: float


@dataclass(frozen=True)
class Work:
    """Everything that a report tells of.

    name, notes, version : of the kept session; version None where nothing is kept
    best_for : what the best set is chosen for, which may be more than this traffic
    study : what the verdict follows from; None where the traffic leads to none, or is so large that
        it is worked out on request alone
    profile : what the step cost was fitted to; None where nothing was measured
    """

    name: str
    notes: str
    version: int | None
    workload: state.Workload
    traffic: Traffic
    sets: tuple[ChosenSet, ...]
    best: BestChoice
    best_for: StepHistogram
    view: compute.CostView
    profile: Profile | None
    memory: MemoryChoice | None
    pay_back: PayBack
    served: ServedRuns | None
    engine: EngineChoice | None
    export: ExportChoice
    study: StudyChoice | None = None

    def set_named(self, name: str) -> ChosenSet:
        """The set of that name, else the last one."""
        return next((s for s in self.sets if s.bucket_set.name == name), self.sets[-1])
