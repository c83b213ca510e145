"""Changes of a trace: load and prefix hits."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import SettingError
from core.records import Trace
from core.trace_changes import scaled_arrivals, with_prefix_hit_rate

TRACE = Trace(np.array([100, 7]), np.array([1, 1]), np.array([0.0, 3.0]))


def test_scaling_divides_arrivals():
    """Twice the load: every arrival at half its time."""
    assert scaled_arrivals(TRACE, 2.0).arrival_s.tolist() == [0.0, 1.5]


def test_a_hit_rate_is_a_share_of_every_prompt():
    """30 % of 100 is 30; of 7, 2.1 and so 2."""
    assert with_prefix_hit_rate(TRACE, 0.3).prefix_hit_tokens.tolist() == [30, 2]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: scaled_arrivals(Trace(np.array([1]), np.array([1])), 2.0), "no arrival times"),
        (lambda: scaled_arrivals(TRACE, 0.0), "load factor is 0.0"),
        (lambda: with_prefix_hit_rate(TRACE, 1.5), "hit rate is 1.5"),
    ],
)
def test_bad_settings_are_named(call, says):
    """A factor or rate that makes no sense is refused with its value."""
    with pytest.raises(SettingError, match=says):
        call()
