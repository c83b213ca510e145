"""The memory-limited recurrence compiled: one queue of lines a memory level, O(m levels)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
from numpy.typing import NDArray

from core.buckets.layers import first_allowed
from core.buckets.problem import Problem
from core.records import FloatArray

if TYPE_CHECKING:
    from core.buckets.budget_table import Weights


@numba.njit(cache=True)
def _queue_table(w, f, price, lowest, own, costs, parent):  # pragma: no cover - compiled
    m, width = costs.shape
    line = np.empty((width, m), np.int32)
    head = np.zeros(width, np.int64)
    tail = np.zeros(width, np.int64)
    for j in range(1, m):
        i = j - 1
        for u in range(width):  # candidate i comes into every level's queue
            row, h, t = line[u], head[u], tail[u]
            while t > h and row[h] < lowest[j]:
                h += 1
            if costs[i, u] < np.inf:
                skip = False
                while t > h and w[row[t - 1]] == w[i]:
                    if costs[row[t - 1], u] <= costs[i, u]:
                        skip = True
                        break
                    t -= 1
                if not skip:
                    while t - h >= 2:
                        a, b = row[t - 2], row[t - 1]
                        left = (costs[i, u] - costs[b, u]) / (w[i] - w[b])
                        right = (costs[b, u] - costs[a, u]) / (w[b] - w[a])
                        if left > right:
                            break
                        t -= 1
                    row[t] = i
                    t += 1
            x = f[j]
            while t - h >= 2 and costs[row[h + 1], u] - w[row[h + 1]] * x < (
                costs[row[h], u] - w[row[h]] * x
            ):
                h += 1
            head[u], tail[u] = h, t
        for u in range(own[j], width):
            level = u - own[j]
            if tail[level] > head[level]:
                best = line[level, head[level]]
                costs[j, u] = costs[best, level] + f[j] * (w[j] - w[best]) + price[j]
                parent[j, u] = best


def queue_table(problem: Problem, weights: Weights) -> tuple[FloatArray, NDArray[np.int32]]:
    """As budget_table.every_table, for padding up at costs that never fall with size."""
    m, width = len(problem), weights.levels + 1
    costs = np.full((m, width), np.inf)
    costs[0] = 0.0
    parent = np.zeros((m, width), np.int32)
    _queue_table(
        problem.below.astype(np.float64),
        problem.replay.astype(np.float64),
        problem.price.astype(np.float64),
        first_allowed(problem.forced),
        weights.own,
        costs,
        parent,
    )
    return costs, parent
