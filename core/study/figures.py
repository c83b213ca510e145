"""What a study says of a list: in one scenario, and in all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.records import Origin, StepHistogram


@dataclass(frozen=True)
class ScenarioFigures:
    """One list in one scenario, simulated with its own graphs.

    tpot, ttft, itl : [ms]; None where no request has one, or where only steps are known
    step_us : mean wall time of a decode step (eager ones included) [us]
    waste, coverage : padded slots over slots of graph steps; decode steps on a graph, 0 to 1
    mixed_coverage : steps with prefill on a graph, 0 to 1
    saturated : the engine does not keep up: requests wait and go on waiting
    decode, mixed : steps by size [requests], [tokens]
    """

    scenario: str
    load: float
    tpot_p50_ms: float | None
    tpot_mean_ms: float | None
    tpot_p99_ms: float | None
    ttft_p50_ms: float | None
    ttft_p99_ms: float | None
    itl_p50_ms: float | None
    output_tps: float | None
    makespan_s: float | None
    step_us: float
    steps: int
    waste: float
    coverage: float
    mixed_coverage: float
    mean_running: float
    saturated: bool
    decode: StepHistogram
    mixed: StepHistogram | None


@dataclass(frozen=True)
class ListFigures:
    """One list in all scenarios, and what it takes whatever the load.

    sizes : as the engine ends up holding the list; asked : as it was given
    graph_bytes : device memory of its graphs [bytes]; kv_tokens : left beside them
    startup_s : to capture them [s]; counts : {kind: graphs}
    """

    asked: tuple[int, ...]
    sizes: tuple[int, ...]
    counts: Mapping[str, int]
    mixed_top: int
    largest_batch: int
    graph_bytes: float
    memory_origin: Origin
    kv_tokens: int
    startup_s: float
    scenarios: tuple[ScenarioFigures, ...]
    notes: tuple[str, ...] = ()

    @property
    def num_sizes(self) -> int:
        return len(self.sizes)

    def at(self, name: str) -> ScenarioFigures:
        return next(item for item in self.scenarios if item.scenario == name)


@dataclass(frozen=True)
class Beside:
    """A list beside what runs today; losses are list / today - 1, below 0 a gain.

    worst_loss : the largest loss of TPOT (median or mean) over the scenarios that can be served;
        of the mean decode step where only steps are known
    worst : the scenario in which that is; gain : of mean TPOT in the traffic as it came
    """

    figures: ListFigures
    worst_loss: float
    worst: str
    gain: float
    losses: Mapping[str, float]


def beside(figures: ListFigures, today: ListFigures) -> Beside:
    """Scenarios in which today's list does not keep up are left out: their waits grow without
    bound, and a difference there says how long the trace is."""
    losses = {
        mine.scenario: loss_of(mine, theirs)
        for mine, theirs in zip(figures.scenarios, today.scenarios, strict=True)
        if not theirs.saturated or theirs.load <= 1.0
    }
    worst = max(losses, key=lambda name: losses[name])
    return Beside(figures, losses[worst], worst, -_change(figures.at("x1"), today.at("x1")), losses)


def loss_of(mine: ScenarioFigures, theirs: ScenarioFigures) -> float:
    """The larger of the losses of median and mean TPOT; of the mean step without requests."""
    pairs = [
        (mine.tpot_p50_ms, theirs.tpot_p50_ms),
        (mine.tpot_mean_ms, theirs.tpot_mean_ms),
    ]
    known = [a / b - 1 for a, b in pairs if a is not None and b]
    return max(known) if known else _step_change(mine, theirs)


def _step_change(mine: ScenarioFigures, theirs: ScenarioFigures) -> float:
    """Of the mean step; 0 where no request decodes, so that no list can gain or lose."""
    return mine.step_us / theirs.step_us - 1 if theirs.step_us else 0.0


def _change(mine: ScenarioFigures, theirs: ScenarioFigures) -> float:
    """Of mean TPOT, or of the mean step."""
    if mine.tpot_mean_ms is not None and theirs.tpot_mean_ms:
        return mine.tpot_mean_ms / theirs.tpot_mean_ms - 1
    return _step_change(mine, theirs)
