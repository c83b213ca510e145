"""Series over time: counters, their resets, and what a range of them adds up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.records import FloatArray

NEAR_ZERO = 0.5
"""A counter that falls to less than half of what it was has been reset; rates fall less, often."""
FROM_START = 0.01


@dataclass(frozen=True)
class Series:
    """One series of an answer.

    bound : upper end of its bucket; None for gauges and native histograms
    values : (n,) in the order of time
    """

    name: str
    model: str
    bound: float | None
    values: FloatArray
    native: Any = None
    times: list[float] = field(default_factory=list)

    @property
    def resets(self) -> int:
        return int((self.values[1:] < self.values[:-1]).sum())

    @property
    def is_counter(self) -> bool:
        """Whether the values can be a raw counter: they fall rarely, and then to near 0."""
        before, after = self.values[:-1], self.values[1:]
        falls = after < before
        near_zero = after[falls] <= NEAR_ZERO * before[falls]
        return bool(near_zero.all()) and 4 * int(falls.sum()) <= max(len(after), 4)


def total_of(values: FloatArray, cumulative: bool) -> tuple[float, bool]:
    """(count over the range, whether it holds the first value too).

    One value is taken as it is. Of a counter: the rises, plus what it stood at after each reset,
    plus the first value when that is below 1 % of the whole, since the range then begins at the
    server's start. Of increase() or rate(): the sum.
    """
    if len(values) == 1:
        return float(values[0]), False
    if not cumulative:
        return float(values.sum()), False
    rises = values[1:] - values[:-1]
    increase = float(rises[rises >= 0].sum() + values[1:][rises < 0].sum())
    first = float(values[0])
    if 0 < first <= FROM_START * (increase + first):
        return increase + first, True
    return increase, False
