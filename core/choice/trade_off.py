"""Step time against graph memory and capture time: the frontier, the user's sets, and the knee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.buckets import Frontier, Limits, frontier, set_cost
from core.cost.mean_step import mean_step_us, step_times_us
from core.engines.padding import EnginePadding
from core.errors import HistogramError
from core.memory import graph_bytes
from core.padding import PaddingReport, padding_report
from core.records import (
    BucketSet,
    FloatArray,
    GraphMemory,
    PoolPolicy,
    StepCost,
    StepHistogram,
)
from core.step_cost import capture_ms_at, graph_step_us_at


@dataclass(frozen=True)
class TradePoint:
    """One set as a point of the trade-off.

    step_us : mean over all steps of the histogram, eager ones included [us]
    capture_s : of all its graphs [s]; unused : sizes without a step
    eager_below : share of the steps that run eager although a larger graph is captured, where an
        engine's rule does not pad them up
    """

    name: str
    sizes: tuple[int, ...]
    step_us: float
    graph_bytes: float
    capture_s: float
    waste: float
    coverage: float
    unused: tuple[int, ...] = ()
    eager_below: float = 0.0

    @property
    def num_graphs(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class TradeOff:
    """What more graphs buy.

    best : the frontier by number of graphs, each strictly faster than the one before
    marked : the user's sets and the engines' defaults
    knee : the point of `best` after which further graphs buy little
    floor_us : mean step with a graph for every size: nothing pads less [us]
    eager_us : mean step without any graph [us]
    """

    best: tuple[TradePoint, ...]
    marked: tuple[TradePoint, ...]
    knee: TradePoint
    floor_us: float
    eager_us: float
    steps: int
    largest: int
    origin: str

    def at(self, num_graphs: int) -> TradePoint:
        """The best set of at most that many graphs; the smallest where even it needs more."""
        return ([p for p in self.best if p.num_graphs <= num_graphs] or [self.best[0]])[-1]


def trade_point(
    histogram: StepHistogram,
    bucket_set: BucketSet,
    cost: StepCost,
    memory: GraphMemory,
    policy: PoolPolicy,
    by_engine: EnginePadding | None = None,
) -> TradePoint:
    """A set weighed on a histogram: rounding up, or as an engine dispatched its steps.

    Raises CaptureSizesError, HistogramError.
    """
    if histogram.total_steps == 0:
        raise HistogramError("The histogram holds no step, so no set can be weighed on it.")
    sizes = bucket_set.sizes
    report = by_engine.report if by_engine else padding_report(histogram, sizes)
    steps = by_engine.steps if by_engine else histogram
    below = report.uncovered.steps[report.uncovered.sizes < sizes[-1]].sum()
    return TradePoint(
        bucket_set.name,
        sizes,
        mean_step_us(steps, report, cost),
        graph_bytes(sizes, memory, policy),
        float(capture_ms_at(cost, sizes).sum()) / 1e3,
        report.waste,
        report.coverage,
        report.unused,
        float(below) / steps.total_steps,
    )


def trade_off(
    histogram: StepHistogram,
    cost: StepCost,
    memory: GraphMemory,
    policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST,
    *,
    sets: Sequence[BucketSet] = (),
    by_engine: Mapping[str, EnginePadding] | None = None,
    max_graphs: int = 64,
    limits: Limits | None = None,
    found: Frontier | None = None,
) -> TradeOff:
    """The frontier in step time, memory and capture time, with sets marked on it.

    by_engine : {name of a set: what its engine does with the steps}; other sets round up
    found : the frontier if it is known already (by time). Raises as `frontier` does.
    """
    if found is None:
        found = _by_time(histogram, cost, max_graphs, limits or Limits())
    best = tuple(
        trade_point(
            histogram, BucketSet(f"best {p.k}", p.sizes, histogram.unit), cost, memory, policy
        )
        for p in found.points
        if p.k
    )
    if not best:
        raise HistogramError("No set of graphs is faster than running every step eagerly.")
    steps, seen = histogram.total_steps, histogram.sizes[histogram.steps > 0]
    unmarked = TradeOff(
        best,
        (),
        knee(best),
        set_cost(histogram, seen, cost) / steps,
        set_cost(histogram, (), cost) / steps,
        steps,
        int(seen[-1]),
        cost.origin.value,
    )
    return with_marks(unmarked, histogram, cost, memory, policy, sets, by_engine)


def with_marks(
    trade: TradeOff,
    histogram: StepHistogram,
    cost: StepCost,
    memory: GraphMemory,
    policy: PoolPolicy,
    sets: Sequence[BucketSet],
    by_engine: Mapping[str, EnginePadding] | None = None,
) -> TradeOff:
    """The same frontier with these sets marked on it instead.

    by_engine : {name of a set: what its engine does with the steps}; other sets round up
    Raises CaptureSizesError, HistogramError.
    """
    rules = by_engine or {}
    marked = tuple(
        trade_point(histogram, item, cost, memory, policy, rules.get(item.name)) for item in sets
    )
    return replace(trade, marked=marked)


def _by_time(histogram: StepHistogram, cost: StepCost, max_graphs: int, limits: Limits) -> Frontier:
    return frontier(
        histogram,
        max_graphs=max_graphs,
        cost=cost,
        candidates=limits.candidates,
        multiple_of=limits.multiple_of,
        include=limits.include,
        allow_eager=limits.allow_eager,
        dispatch=limits.dispatch,
    )


def knee(points: Sequence[TradePoint]) -> TradePoint:
    """The point farthest below the line from first to last, both axes scaled to 1.

    Source: Satopaa et al., Finding a "Kneedle" in a Haystack, 2011.
    """
    x = np.array([point.num_graphs for point in points], float)
    y = np.array([point.step_us for point in points])
    if len(points) < 3:
        return points[-1]
    x = (x - x[0]) / (x[-1] - x[0])
    y = (y - y[-1]) / (y[0] - y[-1])
    return points[int(np.argmin(x + y))]


def lost_us_by_size(histogram: StepHistogram, report: PaddingReport, cost: StepCost) -> FloatArray:
    """Time that the steps of each size lose against a graph of exactly that size: (m,) [us].

    report : what the steps replay, by rounding up or by an engine's rule
    Below 0 where the padded or eager step is faster.
    """
    exact = graph_step_us_at(cost, histogram.sizes)
    taken = step_times_us(histogram.sizes, report.bucket_by_size, cost)
    return (taken - exact) * histogram.steps
