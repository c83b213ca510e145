"""Lists worth simulating: exact ones over all scenarios, ladders, today's, and today's with more.

A list is chosen on what today's graphs replay; what it does to batch sizes is found out only by
simulating it, so none of these is an answer yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from core.buckets import frontier
from core.buckets.merge import merged
from core.errors import ProjectError
from core.records import IntArray, SizeUnit, StepHistogram
from core.study.graphs import Graphs
from core.study.study import Study

NUM_GRAPHS = (4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64)
"""Sizes of lists that are tried."""
GAPS = (1.3, 1.15)
"""No size above those seen may be padded by more than these factors: load may bring any of them."""
LADDER_STEPS = (1.2, 1.3, 1.45, 2.0)
"""Ratios of the hand-made geometric lists."""
EXTENSIONS = (17 / 16, 1.125, 1.25)
"""Ratios of sizes that are added above today's largest."""
MIXED_TOPS = (1024, 1536, 2048)
"""How far sizes are added for steps with prefill: beyond, the card's work hides the launches."""
MIXED_SHARE = 0.02
"""Of the steps, with prefill and just above today's largest size: worth a try."""


def merged_steps(study: Study) -> StepHistogram:
    """Decode steps of all scenarios as slots of today's run, and steps with prefill where the same
    list serves them, each scenario with an equal say, in the engine's unit.

    A slot of a step with prefill costs another time than one of a decode step: its steps count by
    that ratio.
    """
    graphs = study.graphs(None)
    parts = []
    for item in study.today.scenarios:
        counts: dict[int, int] = {}
        _add(counts, graphs.slots[item.decode.sizes], item.decode.steps)
        if item.mixed is not None and graphs.mixed:
            weighed = np.rint(item.mixed.steps * _mixed_weight(study)).astype(np.int64)
            within = item.mixed.sizes <= max(graphs.mixed)
            _add(counts, item.mixed.sizes[within], weighed[within])
        parts.append(StepHistogram.from_mapping(counts, unit=SizeUnit.REQUESTS))
    return merged([part for part in parts if part.total_steps], equal_say=True)


def _add(counts: dict[int, int], sizes: IntArray, steps: IntArray) -> None:
    for size, count in zip(sizes.tolist(), steps.tolist(), strict=True):
        if size >= 1 and count:
            counts[size] = counts.get(size, 0) + int(count)


def _mixed_weight(study: Study) -> float:
    """A padded token of a step with prefill in padded slots of decode steps."""
    cost, prefill = study.cost, study.prefill
    if prefill is None or not prefill.padded or len(cost.sizes) < 2:
        return 1.0
    rise = float(cost.replay_us[-1] - cost.replay_us[0]) / float(cost.sizes[-1] - cost.sizes[0])
    return min(10.0, prefill.us_per_token / rise) if rise > 0 else 1.0


def candidates(study: Study) -> list[tuple[int, ...]]:
    """Lists in the engine's unit, each once, today's left out."""
    today = study.graphs(None)
    width = max(1, int(today.slots[1]))
    full = int(today.slots[-1])
    seen = merged_steps(study)
    tops = sorted({max(full, *today.sizes) if today.sizes else full, full})
    found: list[tuple[int, ...]] = []
    for top in tops:
        for gap in GAPS:
            guards = _guards(int(seen.sizes[-1]), top, width, gap)
            found += _exact(study, seen, guards, width)
        found += [_ladder(ratio, top, width) for ratio in LADDER_STEPS]
    if today.sizes:
        found += list(_of_today(today, full, width))
        found += list(_for_prefill(study, today, width))
    return [sizes for sizes in dict.fromkeys(found) if sizes and sizes != today.sizes]


def _exact(
    study: Study, seen: StepHistogram, guards: Sequence[int], width: int
) -> Iterable[tuple[int, ...]]:
    """The best list of each number of graphs over the merged steps, with these sizes in it."""
    cost = replace(study.cost, unit=SizeUnit.REQUESTS)
    most = max(NUM_GRAPHS)
    if len(guards) >= most:
        return
    try:
        found = frontier(seen, max_graphs=most, cost=cost, multiple_of=width, include=tuple(guards))
    except ProjectError:  # e.g. sizes that are no multiples of the drafts' width
        return
    for number in NUM_GRAPHS:
        if number > len(guards) and number >= found.points[0].k:
            yield found.at(number).sizes


def _guards(largest_seen: int, top: int, width: int, gap: float) -> tuple[int, ...]:
    """Sizes from the largest seen up to the top, none more than `gap` times the one before."""
    sizes = [top]
    while sizes[-1] / gap > largest_seen:
        below = max(width, int(sizes[-1] / gap) // width * width)
        if below >= sizes[-1]:
            break
        sizes.append(below)
    return tuple(sorted(sizes))


def _ladder(ratio: float, top: int, width: int) -> tuple[int, ...]:
    """Geometric from one request to the top, in whole requests."""
    sizes, size = {top}, 1.0
    while size * width < top:
        sizes.add(int(np.ceil(size)) * width)
        size = max(size + 1, size * ratio)
    return tuple(sorted(n for n in sizes if n <= top))


def _of_today(today: Graphs, full: int, width: int) -> Iterable[tuple[int, ...]]:
    """Today's list with sizes up to the full load added, thinned, and cut at the full load."""
    sizes = list(today.sizes)
    if full > sizes[-1]:
        yield from (_extended(today.sizes, full, ratio, width) for ratio in EXTENSIONS)
    for keep in (2, 3, 4):
        yield tuple(sorted({*sizes[::keep], sizes[-1]}))
    below = [n for n in sizes if n <= full]
    if below and below[-1] < sizes[-1]:
        yield tuple(sorted({*below, full}))


def _for_prefill(study: Study, today: Graphs, width: int) -> Iterable[tuple[int, ...]]:
    """Today's list with sizes for steps with prefill that are larger than its largest."""
    steps = study.today.at("x1").mixed
    if not today.mixed or steps is None:
        return
    every = study.today.at("x1").steps
    for top in MIXED_TOPS:
        above = (steps.sizes > max(today.mixed)) & (steps.sizes <= top)
        within = top <= study.machine.max_num_batched_tokens
        if within and steps.steps[above].sum() >= MIXED_SHARE * every:
            yield _extended(today.sizes, top, EXTENSIONS[-1], width)


def _extended(sizes: tuple[int, ...], top: int, ratio: float, width: int) -> tuple[int, ...]:
    """The list with sizes up to the top, none more than about `ratio` times the one before."""
    more, size = [], sizes[-1]
    while size < top:
        size = min(top, _round(max(size + width, size * ratio), width))
        more.append(size)
    return tuple(sorted({*sizes, *more}))


def _round(size: float, width: int) -> int:
    """Up to a size that cards like: 64s above 512, 16s above 128, whole requests in any case."""
    step = next((step for above, step in ((512, 64), (128, 16)) if size > above), 1)
    step = step * width // math.gcd(step, width)
    return int(-(-size // step) * step)


def with_more(study: Study, sizes: tuple[int, ...], scenario: str) -> tuple[int, ...] | None:
    """The list with one size more: in the bucket that loses most in a scenario of its own run."""
    graphs = study.graphs(sizes)
    steps = study.figures(sizes).at(scenario).decode
    slots, bucket = graphs.slots[steps.sizes], graphs.bucket[steps.sizes]
    on = bucket >= 0
    if not on.any():
        return None
    lost = (bucket[on] - slots[on]) * steps.steps[on]
    worst = max(set(bucket[on].tolist()), key=lambda b: int(lost[bucket[on] == b].sum()))
    inside = bucket[on] == worst
    order, counts = slots[on][inside], steps.steps[on][inside]
    middle = int(order[np.searchsorted(np.cumsum(counts), counts.sum() / 2)])
    return None if middle in sizes or middle >= worst else tuple(sorted({*sizes, middle}))
