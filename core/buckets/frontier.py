"""The best bucket set for every number of graphs."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.buckets.layers import Layers, monotone_layers, quadratic_layers
from core.buckets.problem import PADDED_SLOTS, Problem, build
from core.errors import CaptureSizesError, SettingError
from core.padding import bucket_of, padding_report
from core.records import BucketSet, IntArray, SizeUnit, StepCost, StepHistogram
from core.step_cost import eager_us_at, graph_step_us_at

COMPILED_FROM = 2**18
"""Candidates x graphs from which loading numba (about half a second) is sooner than numpy."""


@dataclass(frozen=True)
class FrontierPoint:
    """The best set of at most k graphs; each point is strictly better than all before it.

    k : 0 = no graph at all, where eager steps are allowed
    cost : padded slots, or us over all steps of the histogram, eager ones included
    waste, coverage : shares, as in PaddingReport
    """

    k: int
    sizes: tuple[int, ...]
    cost: float
    waste: float
    coverage: float


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
    histogram: StepHistogram, capture_sizes: Sequence[int] | IntArray, cost: StepCost | None = None
) -> float:
    """What a set costs over all steps: padded slots without a step cost, else us.

    Steps above the largest size pad nothing and take their eager time.
    Raises CaptureSizesError.
    """
    if cost is None:
        return padding_report(histogram, capture_sizes).padded_total
    bucket = bucket_of(histogram.sizes, capture_sizes) if len(capture_sizes) else None
    times = eager_us_at(cost, histogram.sizes)
    if bucket is not None:
        graph = bucket >= 0
        times[graph] = graph_step_us_at(cost, bucket[graph])
    return float(times @ histogram.steps)


def layers_for(problem: Problem, num_layers: int) -> Layers:
    """The quickest exact way for this instance."""
    if not problem.monotone:
        return quadratic_layers(problem, num_layers)
    if problem.price.dtype == np.float64 and len(problem) > 2:
        large = len(problem) * num_layers >= COMPILED_FROM
        loaded = "numba" in sys.modules
        if (large or loaded) and importlib.util.find_spec("numba"):
            from core.buckets.compiled import hull_layers

            return hull_layers(problem, num_layers)
    return monotone_layers(problem, num_layers)


def frontier(
    histogram: StepHistogram,
    *,
    max_graphs: int = 64,
    cost: StepCost | None = None,
    candidates: Sequence[int] | IntArray | None = None,
    multiple_of: int = 1,
    include: Sequence[int] = (),
    allow_eager: bool = False,
) -> Frontier:
    """The exact optimum for every number of graphs up to max_graphs.

    cost : None minimises padded slots, else the time of all steps [us]
    candidates : sizes that may be captured; None = any. multiple_of : of tensor parallel or of
        1 + draft tokens. include : captured in any case. allow_eager : sizes above the largest
        graph may run eager, where that is cheaper
    Points end where one more graph brings nothing.
    Raises HistogramError, CaptureSizesError, SettingError, CostUnitError.
    """
    if max_graphs < 1:
        raise SettingError(f"The number of graphs is {max_graphs}; it must be 1 or more.")
    problem = build(
        histogram,
        cost=cost,
        candidates=candidates,
        multiple_of=multiple_of,
        include=include,
        allow_eager=allow_eager,
    )
    num_forced = int(problem.forced.sum())
    if num_forced > max_graphs:
        raise SettingError(
            f"{num_forced} sizes are included in any case, but only {max_graphs} graphs are "
            "allowed; raise the number or include fewer."
        )
    layers = layers_for(problem, min(max_graphs, len(problem) - 1))
    points = _points(problem, layers, histogram, cost)
    source = cost.source if cost is not None else ""
    return Frontier(points, problem.unit, histogram.unit, histogram.total_steps, source)


def _points(
    problem: Problem, layers: Layers, histogram: StepHistogram, cost: StepCost | None
) -> tuple[FrontierPoint, ...]:
    forced = np.flatnonzero(problem.forced)
    start = max(1, int(forced[-1])) if len(forced) else 1
    points: list[FrontierPoint] = []
    if not len(forced) and problem.above[0] < np.inf:
        points.append(FrontierPoint(0, (), set_cost(histogram, (), cost), 0.0, 0.0))
    for k in range(1, len(layers.costs)):
        totals = layers.costs[k, start:] + problem.above[start:]
        best = int(np.argmin(totals))
        if not totals[best] < np.inf:
            continue
        sizes = problem.sizes_of(layers.chain(k, start + best))
        # Summed afresh: the recurrence's own sum loses the last digits.
        value = set_cost(histogram, sizes, cost)
        if points and value >= points[-1].cost:
            continue
        report = padding_report(histogram, sizes)
        points.append(FrontierPoint(k, sizes, value, report.waste, report.coverage))
    return tuple(points)


def optimal_buckets(
    histogram: StepHistogram,
    *,
    max_graphs: int,
    cost: StepCost | None = None,
    candidates: Sequence[int] | IntArray | None = None,
    multiple_of: int = 1,
    include: Sequence[int] = (),
    allow_eager: bool = False,
) -> BucketSet:
    """The best set of at most max_graphs graphs; arguments and errors as `frontier`."""
    found = frontier(
        histogram,
        max_graphs=max_graphs,
        cost=cost,
        candidates=candidates,
        multiple_of=multiple_of,
        include=include,
        allow_eager=allow_eager,
    )
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
