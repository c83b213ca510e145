"""Histograms made ready to draw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import HistogramError
from core.histogram import log_bins, range_counts, steps_from_lengths
from core.records import LengthHistogram, SizeUnit


def lengths(values: list[int], counts: list[int]) -> LengthHistogram:
    return LengthHistogram(np.array(values, np.int64), np.array(counts, np.int64))


@given(st.dictionaries(st.integers(0, 10**6), st.integers(1, 10**4), min_size=1, max_size=60))
def test_bins_lose_no_request(counts):
    """Every request falls into exactly one bin, zero lengths too."""
    items = sorted(counts.items())
    histogram = lengths([k for k, _ in items], [v for _, v in items])
    binned = log_bins(histogram)
    assert binned.counts.sum() == histogram.total
    assert (np.diff(binned.edges) >= 1).all()


def test_an_empty_histogram_is_said():
    """Nothing to draw is an error with the way out."""
    with pytest.raises(HistogramError, match="check the columns"):
        log_bins(lengths([], []))


def test_lengths_as_steps():
    """One prefill a request; lengths of 0 run no step."""
    steps = steps_from_lengths(lengths([0, 10, 20], [5, 3, 2]))
    assert (steps.sizes.tolist(), steps.steps.tolist()) == ([10, 20], [3, 2])
    assert steps.unit is SizeUnit.LENGTH


def test_shares_are_no_steps():
    """Shares say nothing about how many steps there were."""
    shares = LengthHistogram(np.array([1], np.int64), np.array([1.0]), is_share=True)
    with pytest.raises(HistogramError, match="shares"):
        steps_from_lengths(shares)


def test_ranges_keep_their_edges_and_their_open_end():
    """(0, 10] empty is left out; the last range has no upper end."""
    facts = {"prompt_ranges": [[0, 10.0, 0], [10.0, 20.0, 4], [20.0, None, 1]], "other": 1}
    (found,) = range_counts(facts)
    assert found.what == "prompt" and found.is_open
    assert found.lows.tolist() == [10, 20] and found.highs.tolist() == [20, 40]
    assert found.counts.tolist() == [4, 1]
