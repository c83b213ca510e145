"""The layered recurrence compiled with numba. Imported only where that pays.

Candidate i stands for the function D_i - H(x, i) of the replay cost x. A later one overtakes an
earlier one at most once as x grows, because H(x, i) counts more steps. So the least of them is
found by a queue where x rises with size (O(m K)), and by a Li Chao tree over the distinct x for any
table (O(m K log m)). Without numba, core.buckets.layers does the same.
"""

from __future__ import annotations

import numba
import numpy as np

from core.buckets.layers import Layers, first_allowed
from core.buckets.problem import Problem


@numba.njit(cache=True)
def _queue_layer(before, w, f, price, lowest, costs, parent, line, head_to):  # pragma: no cover
    """Straight lines D_i - W_i x for rising x; line, head_to : scratch of length m."""
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
            costs[j] = before[best] - w[best] * x + x * w[j] + price[j]
            parent[j] = best


@numba.njit(cache=True)
def _queue_layers(w, f, price, lowest, costs, parent):  # pragma: no cover - compiled
    line = np.empty(len(w), np.int64)
    head_to = np.empty(len(w), np.float64)
    for k in range(1, len(costs)):
        _queue_layer(costs[k - 1], w, f, price, lowest, costs[k], parent[k], line, head_to)


def queue_layers(problem: Problem, num_layers: int) -> Layers:
    """Padding up at costs that never fall with size, float64."""
    assert problem.pads_up and problem.rising
    layers = _room(problem, num_layers)
    _queue_layers(
        problem.below,
        problem.replay,
        problem.price,
        first_allowed(problem.forced),
        layers.costs,
        layers.parent,
    )
    return layers


def _room(problem: Problem, num_layers: int) -> Layers:
    costs = np.full((num_layers + 1, len(problem)), np.inf)
    costs[0, 0] = 0.0
    return Layers(costs, np.zeros((num_layers + 1, len(problem)), np.int32))


@numba.njit(cache=True, inline="always")
def _upto(x, turn, end, w, e):  # pragma: no cover - compiled
    """H at replay cost x over the first `end` sizes, the first `turn` of which run eager."""
    if turn > end:
        turn = end
    return e[turn] + x * (w[end] - w[turn])


@numba.njit(cache=True)
def _insert(tree, size, i, last, before, xs, turns, covered, w, e):  # pragma: no cover
    """Put candidate i into the tree over xs[0..last]."""
    node, low, high = 1, 0, size - 1
    while True:
        other = tree[node]
        if other < 0:
            tree[node] = i
            return
        middle = (low + high) // 2
        at = min(middle, last)
        mine = before[i] - _upto(xs[at], turns[at], covered[i], w, e)
        theirs = before[other] - _upto(xs[at], turns[at], covered[other], w, e)
        if mine < theirs:
            tree[node] = i
            i, other = other, i
        if low == high:
            return
        # The loser can still win on one side: the later candidate on the right.
        if i > other:
            node, low = 2 * node + 1, middle + 1
        else:
            node, high = 2 * node, middle
        if low > last:
            return


@numba.njit(cache=True)
def _least(tree, size, rank, before, xs, turns, covered, w, e):  # pragma: no cover - compiled
    """The best candidate at xs[rank]; -1 where the tree is empty. The lowest index of equals."""
    node, low, high = 1, 0, size - 1
    best, value = -1, np.inf
    while True:
        other = tree[node]
        if other >= 0:
            here = before[other] - _upto(xs[rank], turns[rank], covered[other], w, e)
            if here < value or (here == value and other < best):
                best, value = other, here
        if low == high:
            return best
        middle = (low + high) // 2
        if rank <= middle:
            node, high = 2 * node, middle
        else:
            node, low = 2 * node + 1, middle + 1


@numba.njit(cache=True)
def _tree_layers(forced, rank, xs, turns, covered, w, e, price, costs, parent):  # pragma: no cover
    m, last = len(covered), len(xs) - 1
    size = 1
    while size <= last:
        size *= 2
    tree = np.empty(2 * size, np.int64)
    for k in range(1, len(costs)):
        before = costs[k - 1]
        tree[:] = -1
        for j in range(1, m):
            if forced[j - 1]:
                tree[:] = -1
            if before[j - 1] < np.inf:
                _insert(tree, size, j - 1, last, before, xs, turns, covered, w, e)
            best = _least(tree, size, rank[j], before, xs, turns, covered, w, e)
            if best >= 0:
                x, turn = xs[rank[j]], turns[rank[j]]
                upto = _upto(x, turn, covered[best], w, e)
                own = _upto(x, turn, covered[j], w, e)
                costs[k, j] = before[best] - upto + own + price[j]
                parent[k, j] = best


def tree_layers(problem: Problem, num_layers: int) -> Layers:
    """Any table of replay costs; with the cheaper-of dispatch, eager costs that never fall."""
    assert problem.pads_up or problem.eager_rises
    layers = _room(problem, num_layers)
    xs, rank = np.unique(problem.replay[1:], return_inverse=True)
    steps = problem.steps
    if problem.pads_up:
        turns, e = np.zeros(len(xs), np.int64), np.zeros(len(steps) + 1)
    else:
        assert problem.eager is not None
        turns = np.searchsorted(problem.eager, xs).astype(np.int64)
        e = problem.running(steps * problem.eager)
    _tree_layers(
        problem.forced,
        np.concatenate([[0], rank]).astype(np.int64),
        xs,
        turns,
        problem.covered,
        problem.running(steps),
        e,
        problem.price,
        layers.costs,
        layers.parent,
    )
    return layers
