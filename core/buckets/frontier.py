"""The best bucket set for every number of graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.buckets.build import Limits, Price, build
from core.buckets.layers import Layers
from core.buckets.problem import PADDED_SLOTS, Dispatch, Problem
from core.buckets.solve import solve
from core.cost.mean_step import host_us
from core.errors import CaptureSizesError, SettingError
from core.padding import bucket_of, padding_report
from core.records import BucketSet, IntArray, SizeUnit, StepCost, StepHistogram
from core.step_cost import eager_us_at, graph_step_us_at


@dataclass(frozen=True)
class FrontierPoint:
    """The best set of at most k graphs; each point is strictly better than all before it.

    k : 0 = no graph at all, where eager steps are allowed
    cost : padded slots, or us over all steps of the histogram, eager ones included; without price
    waste, coverage : shares, as in PaddingReport
    price : of the set's graphs, in the same unit
    """

    k: int
    sizes: tuple[int, ...]
    cost: float
    waste: float
    coverage: float
    price: float = 0.0

    @property
    def total(self) -> float:
        return self.cost + self.price


@dataclass(frozen=True)
class Frontier:
    """Points by rising number of graphs and falling cost.

    unit : "padded slots" or "us"; steps : steps of the histogram
    """

    points: tuple[FrontierPoint, ...]
    unit: str
    size_unit: SizeUnit
    steps: int
    source: str = ""

    def at(self, num_graphs: int) -> FrontierPoint:
        """The best point of at most that many graphs.

        Raises SettingError if even the smallest needs more.
        """
        fitting = [point for point in self.points if point.k <= num_graphs]
        if not fitting:
            raise SettingError(
                f"No set of {num_graphs} graphs serves this histogram; the smallest has "
                f"{self.points[0].k}."
            )
        return fitting[-1]


def set_cost(
    histogram: StepHistogram,
    capture_sizes: Sequence[int] | IntArray,
    cost: StepCost | None = None,
    dispatch: Dispatch = Dispatch.PAD_UP,
) -> float:
    """What a set costs over all steps: padded slots without a step cost, else us.

    Steps above the largest size pad nothing and take their eager time.
    Raises CaptureSizesError.
    """
    if cost is None:
        return padding_report(histogram, capture_sizes).padded_total
    times = eager_us_at(cost, histogram.sizes)
    if len(capture_sizes):
        bucket = bucket_of(histogram.sizes, capture_sizes)
        graph = bucket >= 0
        replays = graph_step_us_at(cost, bucket[graph])
        cheaper = dispatch is Dispatch.CHEAPER
        times[graph] = np.minimum(times[graph], replays) if cheaper else replays
    return float(times @ histogram.steps) + host_us(histogram, cost)


def frontier(
    histogram: StepHistogram,
    *,
    max_graphs: int = 64,
    cost: StepCost | None = None,
    candidates: Sequence[int] | IntArray | None = None,
    multiple_of: int = 1,
    include: Sequence[int] = (),
    allow_eager: bool = False,
    dispatch: Dispatch = Dispatch.PAD_UP,
    price: Price = 0.0,
) -> Frontier:
    """The exact optimum for every number of graphs up to max_graphs.

    cost : None minimises padded slots, else the time of all steps [us]; any table will do
    candidates : sizes that may be captured; None = any. multiple_of : of tensor parallel or of
        1 + draft tokens. include : captured in any case (a guard at the engine's largest batch).
        allow_eager : sizes above the largest graph may run eager, where that is cheaper
    dispatch : CHEAPER if the engine runs a step eagerly where that is faster than its bucket
    price : of each bucket in the cost's unit, one number or a function of the sizes
    Points end where one more graph brings nothing (more than its price).
    Raises HistogramError, CaptureSizesError, SettingError, CostUnitError.
    """
    if max_graphs < 1:
        raise SettingError(f"The number of graphs is {max_graphs}; it must be 1 or more.")
    allowed = None if candidates is None else tuple(candidates)
    limits = Limits(allowed, multiple_of, tuple(include), allow_eager, dispatch)
    problem = build(histogram, cost, limits, price)
    num_forced = int(problem.forced.sum())
    if num_forced > max_graphs:
        raise SettingError(
            f"{num_forced} sizes are included in any case, but only {max_graphs} graphs are "
            "allowed; raise the number or include fewer."
        )
    layers = solve(problem, min(max_graphs, len(problem) - 1))
    points = _points(problem, layers, histogram, cost)
    source = cost.source if cost is not None else ""
    return Frontier(points, problem.unit, histogram.unit, histogram.total_steps, source)


def frontier_point(
    problem: Problem,
    indices: Sequence[int],
    histogram: StepHistogram,
    cost: StepCost | None,
) -> FrontierPoint:
    """A set of candidates as a point, summed afresh: the recurrence's sum loses the last digits."""
    chosen = [0, *indices]
    top = chosen[-1]
    sizes = problem.sizes_of(indices)
    hits = np.diff(problem.below[chosen])
    slots = (problem.candidates[chosen[1:]] * hits).sum()
    useful = problem.useful[top]
    if problem.unit == PADDED_SLOTS:
        value = slots - useful
    elif problem.pads_up:
        replays = (problem.replay[chosen[1:]] * hits).tolist()
        assert cost is not None  # slots alone are counted above
        value = math.fsum([*replays, problem.above[top], host_us(histogram, cost)])
    else:
        value = set_cost(histogram, sizes, cost, problem.dispatch)
    return FrontierPoint(
        len(sizes),
        sizes,
        _number(value),
        float((slots - useful) / slots) if slots else 0.0,
        float(problem.below[top] / problem.total_steps),
        float(problem.price[chosen[1:]].sum()) if sizes else 0.0,
    )


def _number(value: Any) -> float:
    """Whole numbers as int, whatever array they came from."""
    return int(value) if float(value).is_integer() else float(value)


def last_forced(problem: Problem) -> int:
    """Index below which a set may not end; 0 = it may be empty."""
    forced = np.flatnonzero(problem.forced)
    return int(forced[-1]) if len(forced) else 0


def _points(
    problem: Problem, layers: Layers, histogram: StepHistogram, cost: StepCost | None
) -> tuple[FrontierPoint, ...]:
    start = last_forced(problem)
    points: list[FrontierPoint] = []
    for k in range(len(layers.costs)):
        totals = layers.costs[k, start:] + problem.above[start:]
        best = int(np.argmin(totals))
        if not totals[best] < np.inf:
            continue
        point = frontier_point(problem, layers.chain(k, start + best), histogram, cost)
        if not points or point.total < points[-1].total:
            points.append(point)
    return tuple(points)


def optimal_buckets(histogram: StepHistogram, *, max_graphs: int, **limits: object) -> BucketSet:
    """The best set of at most max_graphs graphs; arguments and errors as `frontier`."""
    found = frontier(histogram, max_graphs=max_graphs, **limits)  # pyright: ignore
    point = found.at(max_graphs)
    if point.k == 0:
        raise CaptureSizesError(
            "Every set of graphs is slower than running all steps eagerly; keep graphs off, or "
            "ask for a set that covers every size."
        )
    aim = "fewest padded slots" if found.unit == PADDED_SLOTS else "least time"
    return BucketSet(
        f"best {point.k}",
        point.sizes,
        histogram.unit,
        f"{aim} of all sets of at most {max_graphs} graphs; {found.source}".rstrip("; "),
    )
