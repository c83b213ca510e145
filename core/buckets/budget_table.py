"""The recurrence with a memory limit, in whole units of memory.

D(u, j): cheapest way to serve all sizes up to candidate j, j the largest bucket, with buckets that
take at most u units. Private pools add up over the set; of a shared pool only the largest graph's
part counts, once, at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.buckets.frontier import last_forced
from core.buckets.layers import first_allowed
from core.buckets.problem import Problem
from core.buckets.solve import compiled
from core.records import FloatArray, IntArray


@dataclass(frozen=True)
class Weights:
    """Memory of the candidates in whole units, (m,) each.

    own : added by each chosen bucket
    level : what the set may take in all where the candidate is its largest; -1 = nothing fits
    """

    own: IntArray
    level: IntArray

    @property
    def levels(self) -> int:
        return int(self.level.max())


def cheapest(
    problem: Problem, weights: Weights, max_graphs: int | None
) -> tuple[float, list[int]] | None:
    """Least total within the levels and its candidates; None where nothing fits."""
    free = _pick(problem, weights, *_table(problem, weights)) if weights.levels >= 0 else None
    if free is not None and max_graphs is not None and len(free[1]) > max_graphs:
        tables = _counted_tables(problem, weights, max_graphs)
        free = _pick_counted(problem, weights, tables)
    if last_forced(problem) == 0 and problem.above[0] < (math.inf if free is None else free[0]):
        return float(problem.above[0]), []
    return free


def _ends(problem: Problem, weights: Weights) -> list[tuple[int, int]]:
    """(largest bucket, level its set may take) of every set that may be."""
    start = max(1, last_forced(problem))
    return [(j, int(weights.level[j])) for j in range(start, len(problem)) if weights.level[j] >= 0]


def _pick(
    problem: Problem, weights: Weights, costs: FloatArray, parent: NDArray[np.int32]
) -> tuple[float, list[int]] | None:
    best, end = math.inf, None
    for j, level in _ends(problem, weights):
        if costs[j, level] + problem.above[j] < best:
            best, end = float(costs[j, level] + problem.above[j]), (j, level)
    if end is None:
        return None
    j, level = end
    found = []
    while j > 0:
        found.append(j)
        j, level = int(parent[j, level]), level - int(weights.own[j])
    return best, found[::-1]


Table = tuple[FloatArray, NDArray[np.int32]]
"""D and the bucket before, (m, levels + 1) each."""


def _table(problem: Problem, weights: Weights) -> Table:
    module = None
    if problem.pads_up and problem.rising:
        module = compiled("compiled_budget", len(problem) * weights.levels)
    return every_table(problem, weights) if module is None else module.queue_table(problem, weights)


def _empty(problem: Problem, weights: Weights) -> Table:
    shape = (len(problem), weights.levels + 1)
    costs = np.full(shape, np.inf)
    costs[0] = 0.0
    return costs, np.zeros(shape, np.int32)


def _fill_row(
    problem: Problem, weights: Weights, j: int, first: int, before: FloatArray, table: Table
) -> None:
    """Bucket j after any i >= first of `before`, at every level."""
    costs, parent = table
    own, width = int(weights.own[j]), costs.shape[1]
    if own >= width:
        return
    upto = problem.upto_all(np.array([j]))[0].astype(float)
    values = before[first:j, : width - own] - upto[first:j, None]
    best = values.argmin(axis=0)
    costs[j, own:] = values[best, np.arange(width - own)] + upto[j] + float(problem.price[j])
    parent[j, own:] = best + first


def every_table(problem: Problem, weights: Weights) -> Table:
    """Every predecessor at every level: O(m^2 levels), any costs."""
    table = _empty(problem, weights)
    lowest = first_allowed(problem.forced)
    for j in range(1, len(problem)):
        _fill_row(problem, weights, j, int(lowest[j]), table[0], table)
    return table


def _counted_tables(problem: Problem, weights: Weights, max_graphs: int) -> list[Table]:
    """The same for sets of exactly 0, 1, ... max_graphs buckets."""
    tables = [_empty(problem, weights)]
    lowest = first_allowed(problem.forced)
    for _ in range(max_graphs):
        table = _empty(problem, weights)
        table[0][0] = np.inf
        for j in range(1, len(problem)):
            _fill_row(problem, weights, j, int(lowest[j]), tables[-1][0], table)
        tables.append(table)
    return tables


def _pick_counted(
    problem: Problem, weights: Weights, tables: list[Table]
) -> tuple[float, list[int]] | None:
    best, end = math.inf, None
    for k, (costs, _) in enumerate(tables[1:], start=1):
        for j, level in _ends(problem, weights):
            if costs[j, level] + problem.above[j] < best:
                best, end = float(costs[j, level] + problem.above[j]), (k, j, level)
    if end is None:
        return None
    k, j, level = end
    found = []
    while k > 0:
        found.append(j)
        j, level = int(tables[k][1][j, level]), level - int(weights.own[j])
        k -= 1
    return best, found[::-1]
