"""What is known about one deployment: its steps, its graphs, its step times, what it said itself.

Every part may be missing; the answer says what to upload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from core.cost.family import ProfileFamily
from core.diagnose import Cause
from core.padding import PaddingReport
from core.records import StepCost, StepHistogram


@dataclass(frozen=True)
class Replays:
    """What an engine itself counted.

    eager_share : steps without a graph, 0 to 1; steps : all of them, None where it tells shares
    what : where it says so; sampled : its counts are a sample
    """

    eager_share: float
    what: str
    steps: int | None = None
    sampled: bool = False


@dataclass(frozen=True)
class EngineFacts:
    """What an engine's log, metrics or recorded run say of its graphs; None: they do not say.

    name : None where it does not say which engine it is
    off : the words in which it says that graphs are off
    captured : sizes for which it captured graphs; () for none
    stopped : graphs captured and wanted, where a line says that capturing failed
    failed : the line that says that capturing failed
    step_us : median wall time of a decode step by its size, measured by the engine [us]
    fix : what to write so that graphs are on
    """

    name: str | None = None
    off: str | None = None
    fix: str | None = None
    mode: str | None = None
    captured: tuple[int, ...] | None = None
    stopped: tuple[int, int] | None = None
    failed: str | None = None
    out_of_memory: bool | None = None
    truncated_to: int | None = None
    replays: Replays | None = None
    graph_gib: float | None = None
    kv_gib: float | None = None
    preemptions: int | None = None
    synchronous: bool | None = None
    step_us: Mapping[int, float] | None = None
    causes: tuple[Cause, ...] | None = None

    @property
    def label(self) -> str:
        """What to call it within a sentence."""
        return self.name or "the engine"

    def completed(self, other: EngineFacts) -> EngineFacts:
        """With what only the other says."""
        values = {
            item.name: getattr(self, item.name)
            if getattr(self, item.name) is not None
            else getattr(other, item.name)
            for item in fields(self)
        }
        return EngineFacts(**values)


@dataclass(frozen=True)
class Known:
    """Everything there is to judge by.

    report : the steps through the captured sizes; sizes_source : where those come from
    engine : of the run with graphs; without : of a run of the same engine without them
    family : a measured profile and its relatives; cost : its step cost, perhaps at another context
    """

    steps: StepHistogram | None = None
    report: PaddingReport | None = None
    sizes_source: str = ""
    engine: EngineFacts | None = None
    without: EngineFacts | None = None
    family: ProfileFamily | None = None
    cost: StepCost | None = None
    notes: tuple[str, ...] = ()
