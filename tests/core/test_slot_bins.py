"""Slots in bins: nothing is lost, and few sizes stay apart."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.padding import padding_report
from core.records import StepHistogram
from core.slot_bins import slot_bins


def test_few_sizes_stay_apart():
    """Sizes 1, 3, 9 on buckets 1, 4: useful 1 and 3, padded 0 and 1, 9 runs eager."""
    steps = StepHistogram.from_mapping({1: 1, 3: 1, 9: 2})
    bins = slot_bins(steps, padding_report(steps, (1, 4)))
    assert bins.first.tolist() == bins.last.tolist() == [1, 3, 9]
    assert bins.useful.tolist() == [1, 3, 0]
    assert bins.padded.tolist() == [0, 1, 0]
    assert bins.eager.tolist() == [0, 0, 18]


@given(
    st.dictionaries(st.integers(1, 5000), st.integers(1, 1000), min_size=1, max_size=300),
    st.lists(st.integers(1, 6000), min_size=1, max_size=20),
    st.integers(1, 64),
)
def test_sums_are_kept(counts, capture_sizes, max_bins):
    """However coarse the bins, their sums are the report's, and each bin holds its sizes."""
    steps = StepHistogram.from_mapping(counts)
    report = padding_report(steps, capture_sizes)
    bins = slot_bins(steps, report, max_bins)
    assert len(bins.first) <= max(max_bins, 1)
    assert bins.useful.sum() == report.useful_slots
    assert bins.padded.sum() == report.padded_total
    assert bins.eager.sum() == report.uncovered.useful_slots
    assert (bins.first[1:] > bins.last[:-1]).all()
    assert bins.first[0] <= steps.sizes[0] and bins.last[-1] >= steps.sizes[-1]
    assert np.all(bins.last >= bins.first)
