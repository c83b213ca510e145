"""The best bucket set whose graphs fit into a hard limit of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.buckets.budget_table import Weights, cheapest
from core.buckets.build import Limits, Price, build
from core.buckets.frontier import FrontierPoint, frontier_point
from core.buckets.problem import Problem
from core.buckets.solve import compiled
from core.errors import SettingError
from core.memory import graph_bytes
from core.records import FloatArray, GraphMemory, IntArray, PoolPolicy, StepCost, StepHistogram
from core.step_cost import line_at

MAX_LEVELS = 4096
"""Memory levels of one solution: finer ones cost time, coarser ones memory that is left over."""

MAX_CELLS = 2**31
"""Predecessors tried without compiled code before the levels are made coarser: some seconds."""


@dataclass(frozen=True)
class BudgetedSet:
    """The best set within a memory limit.

    used_bytes : what it takes by `graph_bytes` [bytes]
    lower_bound : no set within the limit costs less; equal to the point's total where the set is
        proved best, apart from it at most by the rounding of memory to units
    unit_bytes : what one memory level stands for [bytes]
    """

    point: FrontierPoint
    used_bytes: float
    budget_bytes: float
    lower_bound: float
    unit_bytes: float

    @property
    def proved_best(self) -> bool:
        return self.lower_bound >= self.point.total * (1 - 1e-9)


def budgeted_buckets(
    histogram: StepHistogram,
    memory: GraphMemory,
    policy: PoolPolicy,
    budget_bytes: float,
    *,
    max_graphs: int | None = None,
    cost: StepCost | None = None,
    limits: Limits | None = None,
    price: Price = 0.0,
    max_levels: int = MAX_LEVELS,
) -> BudgetedSet:
    """The best set that takes at most budget_bytes and, if given, max_graphs graphs.

    A pool that is filled smallest first counts as private pools: no graph reuses a smaller one's.
    Raises SettingError if nothing fits, and as `frontier`.
    """
    if not 0 <= budget_bytes < 2**62:
        raise SettingError(f"The memory limit is {budget_bytes} bytes; give 0 to 2**62.")
    problem = build(histogram, cost, limits, price, keep_all=True)
    room = budget_bytes - memory.fixed_bytes
    own, pool = _bytes(problem, memory, policy)
    unit = _unit(own[1:], max(room, 0.0), _levels(problem, max_levels, max_graphs))
    level = np.where(room >= pool, np.floor((room - pool) / unit + 1e-9), -1).astype(np.int64)
    found = cheapest(problem, Weights(_units(own, unit, np.ceil), level), max_graphs)
    if found is None:
        raise SettingError(_nothing_fits(problem, memory, policy, budget_bytes))
    bound = cheapest(problem, Weights(_units(own, unit, np.floor), level), max_graphs)
    point = frontier_point(problem, found[1], histogram, cost)
    used = graph_bytes(point.sizes, memory, policy) if point.sizes else 0.0
    lower = point.total if bound is None else min(bound[0] + _offset(histogram, cost), point.total)
    return BudgetedSet(point, used, budget_bytes, lower, unit)


def _offset(histogram: StepHistogram, cost: StepCost | None) -> float:
    """Useful slots, which the recurrence counts and padded slots do not."""
    return 0.0 if cost is not None else -float(histogram.useful_slots)


def _bytes(
    problem: Problem, memory: GraphMemory, policy: PoolPolicy
) -> tuple[FloatArray, FloatArray]:
    """Of each candidate: what it adds in any case, and what counts for the largest alone."""
    sizes = problem.candidates
    graphs = line_at(memory.sizes, memory.graph_bytes, sizes)
    pools = line_at(memory.sizes, memory.pool_bytes, sizes)
    graphs[0] = pools[0] = 0.0
    if policy is PoolPolicy.SHARED_LARGEST_FIRST:
        return graphs, np.maximum.accumulate(pools)
    return graphs + pools, np.zeros(len(sizes))


def _levels(problem: Problem, max_levels: int, max_graphs: int | None) -> int:
    m = len(problem)
    orderly = max_graphs is None and problem.pads_up and problem.rising
    if orderly and compiled("compiled_budget", m * max_levels) is not None:
        return max_levels
    return max(16, min(max_levels, MAX_CELLS // (m * m * (max_graphs or 1))))


def _unit(own: FloatArray, room: float, levels: int) -> float:
    """Bytes a level: what divides every graph's bytes if that is not too fine, else the finest."""
    if len(np.unique(own)) == 1:
        return float(own[0]) or 1.0
    if (own == np.floor(own)).all():
        common = int(np.gcd.reduce(own.astype(np.int64)))
        if room / common <= levels:
            return float(common)
    return room / levels or 1.0


def _units(own: FloatArray, unit: float, rounded: np.ufunc) -> IntArray:
    """Whole units of each; a hair off a whole unit is that unit."""
    scaled = own / unit
    near = np.rint(scaled)
    exact = np.abs(scaled - near) <= 1e-9 * np.maximum(1, near)
    return np.where(exact, near, rounded(scaled)).astype(np.int64)


def _nothing_fits(
    problem: Problem, memory: GraphMemory, policy: PoolPolicy, budget_bytes: float
) -> str:
    sizes: Sequence[int] = problem.candidates[problem.forced].tolist() or [
        int(problem.candidates[-1])
    ]
    least = graph_bytes(sizes, memory, policy)
    return (
        f"No set fits into {budget_bytes / 2**20:.1f} MiB: the graphs of "
        f"{', '.join(map(str, sizes))} alone take {least / 2**20:.1f} MiB. Raise the limit, or "
        "allow eager steps."
    )
