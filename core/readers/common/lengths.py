"""Length histograms from arrays, and percentiles from histograms without expanding them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.records import FloatArray, IntArray, LengthHistogram

DENSE_LENGTH = 1 << 22
"""Up to this length counting into a table beats sorting, and its memory stays small."""
CLIP_ROWS = 20
"""So many requests on the largest length are no coincidence."""


def length_histogram(lengths: IntArray, what: str) -> LengthHistogram:
    """Distinct lengths [tokens] of (n,) requests and how often each occurs."""
    if len(lengths) and lengths.min() >= 0 and lengths.max() < DENSE_LENGTH:
        table = np.bincount(lengths)
        values = np.flatnonzero(table).astype(np.int64)
        return LengthHistogram(values, table[values].astype(np.int64), what)
    values, counts = np.unique(lengths, return_counts=True)
    return LengthHistogram(values.astype(np.int64), counts.astype(np.int64), what)


def merged_histogram(
    lengths: IntArray, counts: NDArray[Any], what: str, is_share: bool = False
) -> LengthHistogram:
    """From (m,) pairs that may repeat a length, in any order."""
    values, place = np.unique(lengths, return_inverse=True)
    sums = np.zeros(len(values), counts.dtype)
    np.add.at(sums, place, counts)
    return LengthHistogram(values.astype(np.int64), sums, what, is_share)


def weighted_percentiles(histogram: LengthHistogram, percents: tuple[float, ...]) -> FloatArray:
    """Percentiles [tokens] as numpy's linear ones of the expanded lengths would be.

    Shares have no number of requests to interpolate between: there it is the smallest length whose
    cumulative share reaches the percentage. NaN for an empty histogram.
    """
    values, counts = histogram.lengths, histogram.counts
    if len(values) == 0:
        return np.full(len(percents), np.nan)
    cumulative = np.cumsum(counts)
    if histogram.is_share:
        wanted = np.asarray(percents) / 100 * cumulative[-1]
        place = np.searchsorted(cumulative, wanted * (1 - 1e-12))
        return values[np.minimum(place, len(values) - 1)].astype(np.float64)
    position = (cumulative[-1] - 1) * (np.asarray(percents, np.float64) / 100)
    low = np.floor(position).astype(np.int64)
    below = values[np.searchsorted(cumulative, low, side="right")].astype(np.float64)
    high = np.minimum(low + 1, cumulative[-1] - 1)
    above = values[np.searchsorted(cumulative, high, side="right")].astype(np.float64)
    t = position - low
    # numpy interpolates from the nearer end, so that rounding agrees to the last bit
    return np.where(t < 0.5, below + (above - below) * t, above - (above - below) * (1 - t))


def total_tokens(histogram: LengthHistogram) -> float:
    """Sum of length x count [tokens]."""
    return float(histogram.lengths.astype(np.float64) @ histogram.counts.astype(np.float64))


def clipping_warning(histogram: LengthHistogram | None, what: str) -> list[str]:
    """A sentence when many requests sit on the largest length: a limit, not a length."""
    if histogram is None or len(histogram.lengths) < 3 or histogram.is_share:
        return []
    top, count = int(histogram.lengths[-1]), float(histogram.counts[-1])
    rest = float(histogram.counts[:-1].sum())
    if count >= CLIP_ROWS and count >= 0.002 * rest and count > 5 * float(histogram.counts[-2]):
        return [
            f"{count:,.0f} {what} lengths are exactly {top:,}, the largest seen: probably a limit, "
            "so longer ones were cut."
        ]
    return []
