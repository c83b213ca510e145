"""Choosing bucket sets the slow, obvious way: every subset, each step dispatched by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from core.records import StepCost, StepHistogram


def subsets(sizes: Iterable[int], most: int) -> Iterator[tuple[int, ...]]:
    ordered = sorted(sizes)
    for k in range(most + 1):
        yield from itertools.combinations(ordered, k)


def table(cost: StepCost) -> tuple[dict[int, float], dict[int, float]]:
    """{size: replay with copying in}, {size: eager} of a cost with a point at every size."""
    graph = {int(s): float(us) + cost.copy_us for s, us in zip(cost.sizes, cost.replay_us)}  # noqa: B905
    eager = {int(s): float(us) for s, us in zip(cost.sizes, cost.eager_us)}  # noqa: B905
    return graph, eager


def dispatched(
    histogram: StepHistogram,
    chosen: Sequence[int],
    graph: dict[int, float] | None,
    eager: dict[int, float] | None,
    *,
    best_of: bool = False,
) -> float:
    """Cost of a set, one step size after the other; inf where a size has neither.

    graph None counts padded slots.
    """
    total = 0.0
    for size, steps in zip(histogram.sizes.tolist(), histogram.steps.tolist(), strict=True):
        bucket = next((b for b in chosen if b >= size), None)
        if bucket is None and steps:
            if eager is None:
                return math.inf
            total += steps * eager[size]
        elif bucket is not None and graph is None:
            total += steps * (bucket - size)
        elif bucket is not None and graph is not None:
            step = graph[bucket]
            if best_of and eager is not None:
                step = min(step, eager[size])
            total += steps * step
    return total


def least(
    sets: Iterable[tuple[int, ...]],
    value: Callable[[tuple[int, ...]], float],
    allowed: Callable[[tuple[int, ...]], bool] = lambda chosen: True,
) -> float:
    """The least value over all sets that are allowed; inf where there is none."""
    return min((value(chosen) for chosen in sets if allowed(chosen)), default=math.inf)
