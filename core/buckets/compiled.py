"""The layered recurrence compiled: a hull of lines, O(m K). Imported only when it pays.

Line i has slope -W_i and value D_i - W_i x at x = f_j. Slopes fall and, for prices that never fall,
queries rise, so the lower envelope is a queue. Without numba, core.buckets.layers does the same.
"""

from __future__ import annotations

import numba
import numpy as np

from core.buckets.layers import Layers, first_allowed
from core.buckets.problem import Problem


@numba.njit(cache=True)
def _layer(before, w, f, lowest, costs, parent, line, head_to):  # pragma: no cover - compiled
    """One layer; line, head_to : scratch of length m."""
    head, tail = 0, 0
    for j in range(1, len(w)):
        i = j - 1
        # Before i comes in: an expired line must not stand in for one that is still allowed.
        while tail > head and line[head] < lowest[j]:
            head += 1
        if before[i] < np.inf:
            while tail > head:
                last = line[tail - 1]
                if w[last] == w[i]:
                    if before[last] <= before[i]:
                        break
                    tail -= 1
                    continue
                # x from which i is no worse than last
                cross = (before[i] - before[last]) / (w[i] - w[last])
                if tail - head >= 2 and cross <= head_to[tail - 1]:
                    tail -= 1
                    continue
                head_to[tail] = cross
                line[tail] = i
                tail += 1
                break
            if tail == head:
                line[tail] = i
                tail += 1
        x = f[j]
        while tail - head >= 2 and before[line[head + 1]] - w[line[head + 1]] * x < (
            before[line[head]] - w[line[head]] * x
        ):
            head += 1
        if tail > head:
            best = line[head]
            costs[j] = before[best] - w[best] * x + x * w[j]
            parent[j] = best


@numba.njit(cache=True)
def _all_layers(w, f, lowest, costs, parent):  # pragma: no cover - compiled
    line = np.empty(len(w), np.int64)
    head_to = np.empty(len(w), np.float64)
    for k in range(1, len(costs)):
        _layer(costs[k - 1], w, f, lowest, costs[k], parent[k], line, head_to)


def hull_layers(problem: Problem, num_layers: int) -> Layers:
    """As monotone_layers, for float64 prices that never fall."""
    m = len(problem)
    costs = np.full((num_layers + 1, m), np.inf)
    costs[0, 0] = 0.0
    parent = np.zeros((num_layers + 1, m), np.int32)
    _all_layers(problem.below, problem.price, first_allowed(problem.forced), costs, parent)
    return Layers(costs, parent)
