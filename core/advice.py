"""Advice in words, each sentence with its evidence."""

from __future__ import annotations

from collections.abc import Sequence

from core.baselines import Baseline
from core.buckets import Frontier, FrontierPoint

SMALL_GAIN = 0.01
"""Below this share of step time a change of list is not worth the change."""


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def advice(found: Frontier, best: FrontierPoint, baselines: Sequence[Baseline]) -> list[str]:
    """What to do with the best set beside the engines' defaults; at most one sentence an engine."""
    lines = []
    for item in baselines:
        if item.cost is None:
            continue
        if item.coverage < 1.0:
            lines.append(
                f"{item.label}'s default leaves {100 * (1 - item.coverage):.1f} % of the steps "
                f"eager: its largest size is {item.sizes[-1]}."
            )
        line = _equal(found, item)
        if line:
            lines.append(line)
    return lines


def _equal(found: Frontier, item: Baseline) -> str | None:
    """The smallest best set that is no worse than a default."""
    assert item.cost is not None
    match = next(
        (p for p in found.points if p.cost <= item.cost and p.coverage >= item.coverage), None
    )
    if match is None:
        return None
    return (
        f"{match.k} graphs do no worse than {item.label}'s default of {len(item.sizes)} "
        f"({match.cost:,.6g} against {item.cost:,.6g} {found.unit})."
    )
