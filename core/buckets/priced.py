"""The best bucket set when every bucket has a price: the number of graphs falls out."""

from __future__ import annotations

import numpy as np

from core.buckets.build import Limits, Price, build
from core.buckets.frontier import FrontierPoint, frontier_point, last_forced
from core.buckets.layers import first_allowed
from core.buckets.problem import Problem
from core.records import StepCost, StepHistogram


def priced_buckets(
    histogram: StepHistogram,
    price: Price,
    *,
    cost: StepCost | None = None,
    limits: Limits | None = None,
) -> FrontierPoint:
    """The set of least cost plus prices, of any number of graphs.

    price : of each bucket in the cost's unit: padded slots, or us. A capture that must pay back
        within this traffic costs its capture time
    Raises HistogramError, CaptureSizesError, SettingError, CostUnitError.
    """
    problem = build(histogram, cost, limits, price)
    return frontier_point(problem, _cheapest(problem), histogram, cost)


def _cheapest(problem: Problem) -> list[int]:
    """D(j) = price_j + H(j, j) + min over i < j of (D(i) - H(j, i)), in one pass."""
    if problem.pads_up and problem.rising:
        totals, parent = _queue(problem)
    else:
        totals, parent = _every(problem)
    start = last_forced(problem)
    best = min(range(start, len(problem)), key=lambda j: totals[j] + problem.above[j])
    chosen = []
    while best > 0:
        chosen.append(best)
        best = parent[best]
    return chosen[::-1]


def _queue(problem: Problem) -> tuple[list[float], list[int]]:
    """Lower envelope of lines as a queue, in plain numbers: exact for whole ones of any size."""
    w, f = problem.below.tolist(), problem.replay.tolist()
    price, forced = problem.price.tolist(), problem.forced.tolist()
    totals, parent = [0.0] * len(w), [0] * len(w)
    totals[0] = f[0] * 0  # a whole number where costs are whole
    line: list[int] = []
    head = 0
    for j in range(1, len(w)):
        i = j - 1
        if forced[i]:
            line, head = [], 0
        _push(line, head, i, totals, w)
        x = f[j]
        while len(line) - head >= 2 and (
            totals[line[head + 1]] - w[line[head + 1]] * x < totals[line[head]] - w[line[head]] * x
        ):
            head += 1
        best = line[head]
        totals[j] = totals[best] + x * (w[j] - w[best]) + price[j]
        parent[j] = best
    return totals, parent


def _push(line: list[int], head: int, i: int, totals: list[float], w: list[float]) -> None:
    """Add candidate i behind those it cannot beat yet."""
    while len(line) > head and w[line[-1]] == w[i]:
        if totals[line[-1]] <= totals[i]:
            return
        line.pop()
    while len(line) - head >= 2:
        a, b = line[-2], line[-1]
        # b is never best if i overtakes it before it has overtaken a
        if (totals[i] - totals[b]) * (w[b] - w[a]) > (totals[b] - totals[a]) * (w[i] - w[b]):
            break
        line.pop()
    line.append(i)


def _every(problem: Problem) -> tuple[list[float], list[int]]:
    """Every predecessor tried: O(m^2), any costs."""
    m = len(problem)
    lowest = first_allowed(problem.forced)
    totals, parent = np.zeros(m), [0] * m
    for j in range(1, m):
        upto = problem.upto_all(np.array([j]))[0].astype(float)
        first = int(lowest[j])
        values = totals[first:j] - upto[first:j]
        best = int(values.argmin())
        totals[j] = values[best] + upto[j] + float(problem.price[j])
        parent[j] = best + first
    return totals.tolist(), parent
