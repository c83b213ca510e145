"""Values by size in bins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.size_bins import size_bins


def test_bins_by_hand():
    """Sizes 1, 2, 5, 9 in two bins: 9 sizes wide makes 5 each, 1 to 5 and 6 to 10."""
    bins = size_bins(np.array([1, 2, 5, 9]), np.array([10, 20, 30, 40]), max_bins=2)
    assert bins.first.tolist() == [1, 6] and bins.last.tolist() == [5, 10]
    assert bins.sums[0].tolist() == [60, 40]
    assert bins.labels == ["sizes 1 to 5", "sizes 6 to 10"]
    apart = size_bins(np.array([1, 1000]), np.array([3, 4]), np.array([5, 6]))
    assert apart.labels == ["size 1", "size 1,000"] and apart.sums[1].tolist() == [5, 6]


@given(
    st.dictionaries(st.integers(1, 5000), st.integers(0, 1000), min_size=1, max_size=300),
    st.integers(1, 64),
)
def test_nothing_is_lost(values, max_bins):
    """However coarse, the sums over bins are those over sizes, and bins do not overlap."""
    sizes = np.array(sorted(values))
    bins = size_bins(sizes, np.array([values[int(s)] for s in sizes]), max_bins=max_bins)
    assert len(bins.first) <= max_bins or len(bins.first) == len(sizes)
    assert bins.sums[0].sum() == sum(values.values())
    assert (bins.first[1:] > bins.last[:-1]).all()
