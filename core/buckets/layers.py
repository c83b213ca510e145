"""The layered recurrence D_k(j) = price_j + H(j, j) + min over i < j of (D_(k-1)(i) - H(j, i)).

D_k(j): cheapest way to serve all sizes up to candidate j with exactly k buckets, j the largest.
Here in numpy; core.buckets.compiled does the same with numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.buckets.problem import Problem
from core.records import IntArray


@dataclass(frozen=True)
class Layers:
    """costs : (K + 1, m), inf where impossible; parent : (K + 1, m) int32, the bucket before."""

    costs: NDArray[Any]
    parent: NDArray[np.int32]

    def chain(self, k: int, j: int) -> list[int]:
        """Candidate indices of the best set of k buckets that ends in j, ascending."""
        found = []
        while k > 0:
            found.append(j)
            j = int(self.parent[k, j])
            k -= 1
        return found[::-1]


def first_allowed(forced: NDArray[np.bool_]) -> IntArray:
    """Lowest index that may precede each j: the last forced one below it. (m,)"""
    marks = np.where(forced, np.arange(len(forced)), 0)
    return np.concatenate([[0], np.maximum.accumulate(marks)[:-1]]).astype(np.int64)


def empty_layers(problem: Problem, num_layers: int) -> Layers:
    m = len(problem)
    costs = np.full((num_layers + 1, m), np.inf, problem.replay.dtype)
    costs[0, 0] = 0
    return Layers(costs, np.zeros((num_layers + 1, m), np.int32))


def quadratic_layers(problem: Problem, num_layers: int, block: int = 64) -> Layers:
    """Every predecessor tried: O(m^2 K), any costs. The reference for the faster ways."""
    layers = empty_layers(problem, num_layers)
    m = len(problem)
    lowest = first_allowed(problem.forced)
    columns = np.arange(m)
    for start in range(1, m, block):
        rows = np.arange(start, min(m, start + block))
        upto = problem.upto_all(rows)
        own = upto[np.arange(len(rows)), rows] + problem.price[rows]
        open_to = (columns[None, :] < rows[:, None]) & (columns[None, :] >= lowest[rows, None])
        for k in range(1, num_layers + 1):
            # All layers of a block in turn, so that H is worked out once.
            _quadratic_rows(layers, k, rows, upto, own, open_to)
    return layers


def _quadratic_rows(
    layers: Layers,
    k: int,
    rows: IntArray,
    upto: NDArray[Any],
    own: NDArray[Any],
    open_to: NDArray[np.bool_],
) -> None:
    end = int(rows[-1])
    values = np.where(open_to[:, :end], layers.costs[k - 1, None, :end] - upto[:, :end], np.inf)
    best = values.argmin(axis=1)
    layers.parent[k, rows] = best
    layers.costs[k, rows] = values[np.arange(len(rows)), best] + own


def _levels(m: int) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Rows 1..m-1 by depth of a balanced search tree, with the solved rows left and right of each.

    0 and m stand for the walls before the first row and after the last.
    """
    low, high = np.array([1]), np.array([m - 1])
    while len(low):
        middle = (low + high) // 2
        yield middle, low - 1, high + 1
        low = np.column_stack([low, middle + 1]).ravel()
        high = np.column_stack([middle - 1, high]).ravel()
        low, high = low[low <= high], high[low <= high]


def _argmin_in_ranges(
    problem: Problem, before: NDArray[Any], rows: IntArray, low: IntArray, count: IntArray
) -> tuple[IntArray, NDArray[Any]]:
    """For each row the first i in [low, low + count) of least before[i] - H(row, i), and that."""
    start = np.cumsum(count) - count
    columns = np.arange(int(count.sum())) - np.repeat(start - low, count)
    values = before[columns] - problem.upto(np.repeat(rows, count), columns)
    least = np.minimum.reduceat(values, start)
    hits = np.flatnonzero(values == np.repeat(least, count))
    first = hits[np.searchsorted(hits, start)]
    return columns[first], least


def monotone_layers(problem: Problem, num_layers: int) -> Layers:
    """Costs that never fall with size: best predecessors ascend, so rows split the search.

    O(m K log m), all rows of one depth at a time. Also exact with forced sizes, which only raise
    the lowest predecessor. Source: divide and conquer for Monge costs.
    """
    layers = empty_layers(problem, num_layers)
    m = len(problem)
    lowest = first_allowed(problem.forced)
    every = np.arange(m)
    own = problem.upto(every, every) + problem.price
    levels = list(_levels(m))
    for k in range(1, num_layers + 1):
        before = layers.costs[k - 1]
        reachable = np.flatnonzero(before < np.inf)
        if len(reachable) == 0:
            break
        first, last = reachable[0], reachable[-1]
        parent = np.full(m + 1, last)
        parent[: first + 1] = first  # rows without predecessor: walls for the others
        for rows, left, right in levels:
            lower, upper = np.maximum(lowest[rows], first), np.minimum(rows - 1, last)
            ok = lower <= upper
            if not ok.any():
                continue
            solved, lower, upper = rows[ok], lower[ok], upper[ok]
            bounds = np.stack([parent[left[ok]], parent[right[ok]]])
            # Rounding can turn near-equal neighbours around: search between them either way.
            low = np.clip(bounds.min(axis=0), lower, upper)
            high = np.clip(bounds.max(axis=0), lower, upper)
            best, least = _argmin_in_ranges(problem, before, solved, low, high - low + 1)
            parent[solved] = best
            layers.parent[k, solved] = best
            layers.costs[k, solved] = least + own[solved]
    return layers
