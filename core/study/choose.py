"""The choice: every candidate simulated in every scenario, and the smallest that loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.study.candidates import candidates, with_more
from core.study.figures import Beside
from core.study.study import Study

TOLERANCE = 0.005
"""Of TPOT, median and mean: a list that loses no more in any scenario is as good as today's."""
MENDED = 6
"""Lists that lose too much and are tried with sizes added, the smallest first."""
MOST_ADDED = 6
"""Sizes that are added to one of them."""

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Choice:
    """What came of the candidates.

    tried : all of them beside today's list; frontier : by number of sizes, each with less
        worst-case loss than all shorter ones
    smallest : the shortest within the tolerance; best : the one that gains most within it
    """

    tried: tuple[Beside, ...]
    frontier: tuple[Beside, ...]
    smallest: Beside | None
    best: Beside | None
    tolerance: float


def choose(
    study: Study,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    more: Sequence[tuple[int, ...]] = (),
) -> Choice:
    """Try all. more : lists of the user's to try beside them. Raises as `Study.figures`."""
    lists = [*more, *candidates(study)]
    tried: dict[tuple[int, ...], Beside] = {}
    for place, sizes in enumerate(lists):
        found = study.beside(sizes)
        tried.setdefault(found.figures.sizes, found)
        if progress is not None:
            progress((place + 1) / (len(lists) + MENDED))
    _mend(study, tried, tolerance)
    results = tuple(sorted(tried.values(), key=lambda item: (item.figures.num_sizes, item.gain)))
    good = [item for item in results if item.worst_loss <= tolerance]
    return Choice(
        results,
        _frontier(results),
        min(good, key=lambda item: (item.figures.num_sizes, item.worst_loss), default=None),
        max(good, key=lambda item: (item.gain, -item.figures.num_sizes), default=None),
        tolerance,
    )


def _mend(study: Study, tried: dict[tuple[int, ...], Beside], tolerance: float) -> None:
    """Add sizes where the worst scenario loses, to the short lists that lose least."""
    losing = [item for item in tried.values() if item.worst_loss > tolerance]
    losing.sort(key=lambda item: (item.worst_loss, item.figures.num_sizes))
    for item in losing[:MENDED]:
        found = item
        for _ in range(MOST_ADDED):
            sizes = with_more(study, found.figures.sizes, found.worst)
            if sizes is None:
                break
            found = study.beside(sizes)
            tried.setdefault(found.figures.sizes, found)
            if found.worst_loss <= tolerance:
                break


def _frontier(results: Sequence[Beside]) -> tuple[Beside, ...]:
    kept: list[Beside] = []
    for item in sorted(results, key=lambda item: (item.figures.num_sizes, item.worst_loss)):
        if not kept or item.worst_loss < kept[-1].worst_loss:
            kept.append(item)
    return tuple(kept)
