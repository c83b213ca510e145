"""TTFT, TPOT, percentiles and goodput by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SettingError
from core.metrics import (
    e2e_s,
    meets_limits,
    percentiles,
    tpot_s,
    ttft_s,
    weighted_percentiles,
)

NAN = float("nan")


def test_latencies_of_one_request():
    """Arrived at 1 s, tokens from 3 s to 7 s, five of them: TTFT 2 s, TPOT 4 / 4 = 1 s, E2E 6 s."""
    arrival, first, last = np.array([1.0]), np.array([3.0]), np.array([7.0])
    assert ttft_s(arrival, first).tolist() == [2.0]
    assert tpot_s(first, last, np.array([5])).tolist() == [1.0]
    assert e2e_s(arrival, last).tolist() == [6.0]


def test_one_token_has_no_tpot():
    """TPOT is a mean of gaps; one token or none has no gap."""
    times = np.array([3.0, 3.0])
    assert np.isnan(tpot_s(times, times, np.array([1, 0]))).all()


def test_percentiles_are_linear_between_ranks():
    """1..5 s in ms: p50 3,000; p90 lies 0.6 of the way from 4 to 5: 4,600; NaN is left out."""
    found = percentiles(np.array([5.0, 1, 2, NAN, 3, 4]), 1e3)
    assert (found.p50, found.count, found.max) == (3000, 5, 5000)
    assert found.p90 == pytest.approx(4600)
    assert percentiles(np.array([NAN])).p99 is None


def test_weighted_percentiles_by_hand():
    """98 gaps of 1 and 2 of 7: p50 is 1, p99 is 7, the mean 1.12."""
    found = weighted_percentiles(np.array([1.0, 7.0]), np.array([98, 2]))
    assert (found.p50, found.p95, found.p99, found.max, found.count) == (1, 1, 7, 7, 100)
    assert found.mean == pytest.approx(1.12)
    assert weighted_percentiles(np.array([]), np.array([], int)).mean is None


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9)), min_size=1, max_size=30))
def test_weights_are_repetitions(pairs):
    """A value with weight n counts like n equal values: the smallest with that share below it."""
    pairs = sorted(dict(pairs).items())
    values, counts = (np.array(column) for column in zip(*pairs, strict=True))
    found = weighted_percentiles(values.astype(float), counts)
    spread = np.repeat(values, counts)
    want = np.percentile(spread, [50, 90, 95, 99], method="inverted_cdf")
    assert [found.p50, found.p90, found.p95, found.p99] == want.tolist()


def test_goodput_needs_both_limits():
    """TTFT up to 2 s and TPOT up to 0.1 s: the second is late, the third slow, the fourth not
    served, the fifth has one token and so no TPOT to miss."""
    ttft = np.array([1.0, 3.0, 1.0, NAN, 2.0])
    tpot = np.array([0.1, 0.05, 0.2, NAN, NAN])
    good = meets_limits(ttft, tpot, ttft_limit_s=2.0, tpot_limit_s=0.1)
    assert good.tolist() == [True, False, False, False, True]
    assert meets_limits(ttft, tpot).tolist() == [True, True, True, False, True]


def test_limits_must_be_above_zero():
    """A limit of 0 would make every run look bad."""
    with pytest.raises(SettingError, match="tpot_limit_s is 0"):
        meets_limits(np.array([1.0]), np.array([1.0]), tpot_limit_s=0)
