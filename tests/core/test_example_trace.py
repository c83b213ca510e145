"""The built-in trace and made-up arrivals: seeded, labelled, of the rate they promise."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import SettingError
from core.example.trace import example_trace, gamma_arrivals, poisson_arrivals
from core.records import Trace

LENGTHS = Trace(np.full(20_000, 100), np.full(20_000, 10), name="lengths")


def test_the_example_is_the_same_each_time_and_says_what_it_is():
    """One seed gives one trace, labelled synthetic; another seed gives another."""
    one, again, other = example_trace(), example_trace(), example_trace(seed=1)
    assert one.name == "example (synthetic, seed 0)"
    assert np.array_equal(one.arrival_s, again.arrival_s)
    assert np.array_equal(one.prompt_tokens, again.prompt_tokens)
    assert not np.array_equal(one.prompt_tokens, other.prompt_tokens)


def test_the_example_looks_like_chat():
    """2,000 requests at about 4 a second, sorted, from 0, with lengths of 1 or more."""
    trace = example_trace()
    assert len(trace) == 2000
    assert trace.arrival_s[0] == 0 and (np.diff(trace.arrival_s) >= 0).all()
    assert trace.rate_rps == pytest.approx(4.0, rel=0.05)
    assert trace.prompt_tokens.min() >= 1 and trace.output_tokens.min() >= 1
    assert 300 < np.median(trace.prompt_tokens) < 600
    assert 100 < np.median(trace.output_tokens) < 220


def test_the_example_has_busy_and_quiet_times():
    """Over eighths of the trace the busiest sees at least twice the requests of the quietest."""
    trace = example_trace()
    counts, _ = np.histogram(trace.arrival_s, bins=8)
    assert counts.max() >= 2 * counts.min()


@pytest.mark.parametrize("cv", [0.0, 0.5, 1.0, 3.0])
def test_gamma_arrivals_have_the_rate_and_the_spread_asked_for(cv):
    """20,000 gaps: mean 1/8 s within 5 %, standard deviation cv times the mean within 10 %."""
    trace = gamma_arrivals(LENGTHS, rate_rps=8.0, cv=cv, seed=3)
    gaps = np.diff(trace.arrival_s)
    assert gaps.mean() == pytest.approx(0.125, rel=0.05)
    assert gaps.std() == pytest.approx(cv * 0.125, rel=0.1, abs=1e-9)


def test_arrivals_keep_order_and_lengths():
    """Lengths stay, in their order; the seed alone decides the arrivals."""
    lengths = Trace(np.array([5, 7, 9]), np.array([1, 2, 3]), name="three")
    one = poisson_arrivals(lengths, rate_rps=2.0, seed=7)
    assert one.prompt_tokens.tolist() == [5, 7, 9] and one.output_tokens.tolist() == [1, 2, 3]
    assert np.array_equal(one.arrival_s, poisson_arrivals(lengths, rate_rps=2.0, seed=7).arrival_s)
    assert one.arrival_s[0] == 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: example_trace(num_requests=0), "num_requests is 0"),
        (lambda: example_trace(rate_rps=0.0), "rate_rps is 0.0"),
        (lambda: poisson_arrivals(LENGTHS, rate_rps=float("nan")), "rate_rps is nan"),
        (lambda: gamma_arrivals(LENGTHS, rate_rps=1.0, cv=-1.0), "cv is -1.0"),
    ],
)
def test_bad_settings_are_named(call, says):
    """A rate, spread or factor that makes no sense is refused with its value."""
    with pytest.raises(SettingError, match=says):
        call()
