"""Counts in ranges of lengths: bounds are all that can be known.

Prometheus buckets, range tables and cumulative tables all become the same ranges: more than
`above`, up to and including `up_to` tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.readers.common.drops import Drops
from core.readers.common.requests import Notes
from core.readers.reading import Reading
from core.records import Grade

QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))


@dataclass(frozen=True)
class Range:
    """`count` lengths l with above < l <= up_to [tokens]; up_to None: without an upper end."""

    above: float
    up_to: float | None
    count: float


@dataclass(frozen=True)
class Ranges:
    """Ranges in ascending order, and the exact sum where the source has one.

    total_tokens : sum of all lengths [tokens]; None when unknown
    is_share : counts are fractions of an unknown number
    """

    ranges: tuple[Range, ...]
    total_tokens: float | None = None
    is_share: bool = False

    @property
    def count(self) -> float:
        return sum(r.count for r in self.ranges)

    @property
    def mean_tokens(self) -> float | None:
        """Exact, from sum and count; None without a sum."""
        if self.total_tokens is None or not self.count:
            return None
        return self.total_tokens / self.count

    def range_of(self, quantile: float) -> Range | None:
        """The range in which a quantile (0..1) lies; None when there is nothing."""
        wanted, seen = quantile * self.count, 0.0
        for item in self.ranges:
            seen += item.count
            if item.count and seen >= wanted * (1 - 1e-12):
                return item
        return None

    def facts(self, what: str) -> dict[str, Any]:
        """JSON: `{what}_ranges`, `{what}_quantile_ranges`, `{what}_mean_tokens` and the count."""
        result: dict[str, Any] = {
            f"{what}_ranges": [[r.above, r.up_to, r.count] for r in self.ranges],
            f"{what}_quantile_ranges": {
                name: [found.above, found.up_to]
                for name, quantile in QUANTILES
                if (found := self.range_of(quantile)) is not None
            },
        }
        if not self.is_share:
            result[f"{what}_count"] = self.count
        if self.total_tokens is not None:
            result[f"{what}_total_tokens"] = self.total_tokens
            result[f"{what}_mean_tokens"] = self.mean_tokens
        return result


def from_cumulative(bounds: Mapping[float, float], total_tokens: float | None = None) -> Ranges:
    """From {upper bound: count up to it}, as Prometheus has it; a fall counts as 0."""
    ranges, below, before = [], -1.0, 0.0
    for bound in sorted(bounds):
        value = bounds[bound]
        up_to = None if math.isinf(bound) else bound
        ranges.append(Range(below, up_to, max(0.0, value - before)))
        below, before = bound, max(before, value)
    return Ranges(tuple(_whole(r) for r in ranges), total_tokens)


def _whole(item: Range) -> Range:
    """Whole counts as integers, so that they print as such."""
    count = int(item.count) if item.count == int(item.count) else item.count
    above = max(item.above, 0) if item.above < 0 else item.above
    return Range(above, item.up_to, count)


def sums_reading(
    name: str,
    label: str,
    rows: int,
    drops: Drops,
    notes: Notes,
    say: Iterable[str] = (),
) -> Reading:
    """A Reading of grade D: bounds, means and sums are in facts, nothing is drawn as a length."""
    return Reading(
        format=name,
        label=label,
        grade=Grade.SUMS,
        rows=rows,
        kept=rows - drops.total,
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        columns=dict(notes.columns),
        all_columns=notes.all_columns,
        warnings=(*say, *notes.warnings),
        facts=notes.facts,
    )


def open_top_warning(ranges: Ranges, what: str) -> Sequence[str]:
    """A sentence when lengths lie above the highest bound."""
    top = ranges.ranges[-1] if ranges.ranges else None
    if top is None or top.up_to is not None or not top.count:
        return []
    return [
        f"{top.count:,.6g} {what} lengths are above {top.above:,.0f}, without an upper end; "
        "say the model's maximum length."
    ]
