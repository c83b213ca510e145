"""Slots by step size, put together in bins where there are too many sizes to draw apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.padding import EAGER, PaddingReport
from core.records import FloatArray, IntArray, StepHistogram
from core.size_bins import MAX_BINS, size_bins


@dataclass(frozen=True)
class SlotBins:
    """Sums over the step sizes from first to last of each bin.

    first, last : (b,) [unit]; equal where a bin is one size
    useful, padded, eager : (b,) slots of graph steps that do work, that are padding, and slots of
        steps without a graph
    """

    first: IntArray
    last: IntArray
    useful: FloatArray
    padded: FloatArray
    eager: FloatArray


def slot_bins(
    histogram: StepHistogram, report: PaddingReport, max_bins: int = MAX_BINS
) -> SlotBins:
    """At most max_bins bins of equal width; one a size where there are no more sizes than that.

    Nothing is lost: the sums over all bins are those of the report.
    """
    slots = histogram.sizes.astype(float) * histogram.steps
    eager = report.bucket_by_size == EAGER
    bins = size_bins(
        histogram.sizes,
        np.where(eager, 0.0, slots),
        report.padded_by_size.astype(float),
        np.where(eager, slots, 0.0),
        max_bins=max_bins,
    )
    return SlotBins(bins.first, bins.last, *bins.sums)
