"""The study: one list after the other through every scenario, each with its own graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.cost.mean_step import step_times_us
from core.padding import EAGER
from core.records import Origin, StepCost, StepHistogram
from core.simulate import Machine, PrefillCost, SimulationResult, simulate_times, step_times
from core.simulation.compiled import is_loaded, numba_installed
from core.step_cost import capture_ms_at
from core.study.accounting import Accounting, startup_s
from core.study.figures import Beside, ListFigures, ScenarioFigures, beside
from core.study.graphs import EngineChoice, Graphs, graphs_of
from core.study.scenario import Scenario, scaled_sizes

COMPILE_FROM = 150_000
"""Requests times lists from which compiling the loop pays."""
SETTLED = 6
"""Turns after which a list's step time and the batch sizes that follow from it agree."""
WAITING_SHARE = 0.02
"""Of the requests, waiting through the last quarter of the arrivals: no keeping up."""

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Study:
    """All that a list's figures depend on.

    machine : its kv_tokens are those of the engine without graphs where graphs take KV tokens,
        else those it has with any list
    prefill : None is assumed in proportion to the decode steps
    error : how far off the step times are, as a share: no smaller gain is claimed
    """

    scenarios: tuple[Scenario, ...]
    engine: EngineChoice
    machine: Machine
    cost: StepCost
    prefill: PrefillCost | None
    accounting: Accounting
    error: float
    concurrency: int | None = None
    _known: dict[tuple[int, ...], ListFigures] = field(default_factory=dict, compare=False)

    @property
    def today(self) -> ListFigures:
        """What runs now."""
        return self.figures(None)

    def figures(self, sizes: Sequence[int] | None) -> ListFigures:
        """Every number of a list; None: of what runs today; (): of no graph at all.

        Raises SettingError, CaptureSizesError.
        """
        graphs = graphs_of(self.engine, sizes, self.machine.max_num_seqs)
        key = (*graphs.sizes, -1, *graphs.mixed)
        if key not in self._known:
            self._known[key] = self._of(graphs, tuple(sizes or ()))
        return self._known[key]

    def beside(self, sizes: Sequence[int] | None) -> Beside:
        """A list beside what runs today. Raises as `figures`."""
        return beside(self.figures(sizes), self.today)

    def graphs(self, sizes: Sequence[int] | None) -> Graphs:
        """What the engine makes of a list. Raises as `figures`."""
        return graphs_of(self.engine, sizes, self.machine.max_num_seqs)

    @property
    def default_sizes(self) -> tuple[int, ...]:
        """What the engine captures by itself with these settings."""
        default = replace(self.engine, today=None)
        return graphs_of(default, None, self.machine.max_num_seqs).sizes

    def pays_back_steps(self, figures: ListFigures) -> float | None:
        """Decode steps after which capturing has paid, beside no graph at all.

        None where it never does, or where no eager step is known.
        """
        if not self.cost.eager_known or not figures.sizes:
            return None
        steps = figures.at("x1").decode
        none = graphs_of(self.engine, (), self.machine.max_num_seqs)
        graphs = self.graphs(figures.asked)
        saved = self._mean_us(none, steps) - self._mean_us(graphs, steps)
        return 1e6 * figures.startup_s / saved if saved > 0 else None

    def result(self, sizes: Sequence[int] | None, scenario: str = "x1") -> SimulationResult | None:
        """The simulated run itself, for charts; None where the traffic is a histogram."""
        found = next(item for item in self.scenarios if item.name == scenario)
        graphs = self.graphs(sizes)
        return None if found.trace is None else self._run(graphs, found, self._machine(graphs))

    def _of(self, graphs: Graphs, asked: tuple[int, ...]) -> ListFigures:
        taken, origin = self.accounting.bytes_of(graphs)
        machine = self._machine(graphs)
        return ListFigures(
            asked or graphs.sizes,
            graphs.sizes,
            graphs.counts,
            max(graphs.mixed, default=0),
            graphs.largest_batch,
            taken,
            origin,
            machine.kv_tokens,
            startup_s(graphs, lambda sizes: float(capture_ms_at(self.cost, sizes).sum())),
            tuple(self._in(graphs, machine, scenario) for scenario in self.scenarios),
            graphs.notes,
        )

    def _machine(self, graphs: Graphs) -> Machine:
        taken, _ = self.accounting.bytes_of(graphs)
        whole, block = self.machine.kv_tokens, self.machine.block_size_tokens
        return replace(self.machine, kv_tokens=self.accounting.kv_tokens(whole, taken, block))

    def _in(self, graphs: Graphs, machine: Machine, scenario: Scenario) -> ScenarioFigures:
        if scenario.trace is None:
            return self._stepped(graphs, scenario)
        result = self._run(graphs, scenario, machine)
        return _served(result, graphs, scenario, self.cost)

    def _run(self, graphs: Graphs, scenario: Scenario, machine: Machine) -> SimulationResult:
        assert scenario.trace is not None
        cost = replace(self.cost, unit=graphs.unit) if self._counts_tokens(graphs) else self.cost
        times = step_times(cost, machine, graphs.mixed or None, self.prefill, graphs.bucket)
        return simulate_times(
            scenario.trace,
            machine,
            times,
            concurrency=self._in_flight(scenario),
            compiled=self._compiled(),
        )

    def _in_flight(self, scenario: Scenario) -> int | None:
        """A closed loop has no arrivals to hurry: more load is more requests in flight."""
        if self.concurrency is None:
            return None
        return max(1, round(self.concurrency * scenario.load))

    def _counts_tokens(self, graphs: Graphs) -> bool:
        return graphs.unit is not self.cost.unit and bool(graphs.sizes)

    def _compiled(self) -> bool:
        work = sum(len(s.trace) for s in self.scenarios if s.trace is not None)
        return numba_installed() and (is_loaded() or 40 * work >= COMPILE_FROM)

    def _stepped(self, graphs: Graphs, scenario: Scenario) -> ScenarioFigures:
        """A histogram: sizes follow step time (rate x time), so a slow list meets larger ones."""
        assert scenario.steps is not None
        steps, top = scenario.steps, self.machine.max_num_seqs
        reference = self._mean_us(graphs_of(self.engine, None, top), scenario.steps)
        for _ in range(SETTLED):
            found = self._mean_us(graphs, steps)
            steps = scaled_sizes(scenario.steps, found / reference, top)
        return _stepped(graphs, scenario, steps, self._mean_us(graphs, steps))

    def _mean_us(self, graphs: Graphs, steps: StepHistogram) -> float:
        slots, bucket = graphs.slots[steps.sizes], graphs.bucket[steps.sizes]
        times = step_times_us(slots, bucket, self.cost) + self.cost.row_us * slots
        return float(times @ steps.steps) / max(1, steps.total_steps)


def _served(
    result: SimulationResult, graphs: Graphs, scenario: Scenario, cost: StepCost
) -> ScenarioFigures:
    latency = result.latency()
    decode, mixed = result.decode_steps, result.mixed_steps
    on_graph = np.isin(mixed.sizes, np.flatnonzero(result.times.mixed_bucket != EAGER))
    waste, coverage = _padding(graphs, decode)
    return ScenarioFigures(
        scenario.name,
        scenario.load,
        latency.tpot_ms.p50,
        latency.tpot_ms.mean,
        latency.tpot_ms.p99,
        latency.ttft_ms.p50,
        latency.ttft_ms.p99,
        latency.itl_ms.p50,
        result.output_tps,
        result.makespan_s,
        1e6 * result.decode_s / max(1, decode.total_steps),
        result.steps,
        waste,
        coverage,
        float(mixed.steps[on_graph].sum()) / max(1, mixed.total_steps),
        result.mean_decoding,
        _saturated(result),
        decode,
        mixed,
    )


def _saturated(result: SimulationResult) -> bool:
    """Whether requests wait through the last quarter of the arrivals, and not a few."""
    arrival = result.trace.arrival_s
    if arrival is None or len(arrival) < 2:
        return False
    late = (result.series.time_s >= 0.75 * arrival[-1]) & (result.series.time_s <= arrival[-1])
    waiting = result.series.waiting[late]
    most = max(8.0, WAITING_SHARE * len(arrival))
    return bool(len(waiting)) and float(np.median(waiting)) >= most


def _padding(graphs: Graphs, decode: StepHistogram) -> tuple[float, float]:
    """Waste and coverage of decode steps, 0 to 1."""
    slots, bucket = graphs.slots[decode.sizes], graphs.bucket[decode.sizes]
    on = bucket != EAGER
    replayed = float((bucket[on] * decode.steps[on]).sum())
    useful = float((slots[on] * decode.steps[on]).sum())
    total = max(1, decode.total_steps)
    return (replayed - useful) / replayed if replayed else 0.0, float(
        decode.steps[on].sum()
    ) / total


def _stepped(
    graphs: Graphs, scenario: Scenario, steps: StepHistogram, step_us: float
) -> ScenarioFigures:
    waste, coverage = _padding(graphs, steps)
    rows = float(steps.sizes @ steps.steps) / max(1, steps.total_steps)
    return ScenarioFigures(
        *(scenario.name, scenario.load),
        *(None, None, None, None, None, None, None, None),
        step_us,
        steps.total_steps,
        waste,
        coverage,
        0.0,
        rows,
        False,
        replace(steps, origin=Origin.ESTIMATED),
        None,
    )
