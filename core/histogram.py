"""Histograms made ready: lengths in logarithmic bins, lengths as steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import HistogramError
from core.records import FloatArray, LengthHistogram, Origin, SizeUnit, StepHistogram


@dataclass(frozen=True)
class BinnedLengths:
    """Requests by length range; bin i holds edges[i] <= length < edges[i + 1].

    edges : (m + 1,) [tokens]; counts : (m,) [requests, or shares]
    """

    edges: FloatArray
    counts: FloatArray
    what: str
    is_share: bool


def log_bins(histogram: LengthHistogram, per_decade: int = 14) -> BinnedLengths:
    """Lengths in bins whose width grows with the length, at least one token wide.

    Long-tailed lengths in even bins would show one bar and a flat line.
    Raises HistogramError if the histogram is empty.
    """
    if len(histogram.lengths) == 0:
        raise HistogramError("There are no lengths to draw; check the columns of the file.")
    low, high = max(1, int(histogram.lengths[0])), max(1, int(histogram.lengths[-1]))
    decades = np.log10((high + 1) / low)
    num_bins = max(1, int(np.ceil(per_decade * decades)))
    edges = np.unique(np.round(np.geomspace(low, high + 1, num_bins + 1)))
    if histogram.lengths[0] < low:  # a length of 0 has no logarithm: its own bin below 1
        edges = np.concatenate([[0.0], edges])
    counts, _ = np.histogram(histogram.lengths, bins=edges, weights=histogram.counts)
    return BinnedLengths(edges, counts.astype(float), histogram.what, histogram.is_share)


@dataclass(frozen=True)
class RangeCounts:
    """Counts of lengths known by range only: lows[i] < length <= highs[i].

    lows, highs : (m,) [tokens]; counts : (m,) [requests]
    is_open : the last range has no upper end; its high is drawn at twice its low
    """

    what: str
    lows: FloatArray
    highs: FloatArray
    counts: FloatArray
    is_open: bool


def range_counts(facts: Mapping[str, Any]) -> list[RangeCounts]:
    """Every range histogram among the facts of a reading ("prompt_ranges" and the like).

    Empty ranges at either end are left out.
    """
    found = []
    for key, ranges in facts.items():
        if not key.endswith("_ranges") or not isinstance(ranges, Sequence) or not ranges:
            continue
        used = [i for i, (_, _, count) in enumerate(ranges) if count]
        if not used:
            continue
        kept = ranges[used[0] : used[-1] + 1]
        lows = np.array([low for low, _, _ in kept], float)
        is_open = kept[-1][1] is None
        highs = np.array([2 * low if high is None else high for low, high, _ in kept], float)
        counts = np.array([count for _, _, count in kept], float)
        found.append(RangeCounts(key.removesuffix("_ranges"), lows, highs, counts, is_open))
    return found


def steps_from_lengths(histogram: LengthHistogram, source: str = "") -> StepHistogram:
    """Lengths as the steps of sequence-length graphs (prefill, encoder): one step a request.

    Raises HistogramError for shares, which say nothing about the number of steps.
    """
    if histogram.is_share:
        raise HistogramError(
            "The file gives shares, not counts, so the number of steps is unknown; "
            "upload counts of requests by length."
        )
    keep = (histogram.lengths > 0) & (histogram.counts > 0)
    return StepHistogram(
        histogram.lengths[keep],
        histogram.counts[keep].astype(np.int64),
        unit=SizeUnit.LENGTH,
        origin=Origin.MEASURED,
        source=source,
    )
