"""What is amiss with a run is said before it begins."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import SettingError
from core.records import Trace
from core.simulate import Machine, warnings_before

TRACE = Trace(np.array([10, 100, 20]), np.array([5, 5, 5]), np.array([0.0, 1.0, 2.0]))


def test_all_is_well():
    """Requests that fit, and a loop within max_num_seqs: nothing to say."""
    assert warnings_before(TRACE, Machine(1024)) == []
    assert warnings_before(TRACE, Machine(1024, max_num_seqs=4), concurrency=4) == []


def test_who_can_never_fit_is_named():
    """Request 1 needs 100 + 5 - 1 = 104 tokens of a cache of 64."""
    (said,) = warnings_before(TRACE, Machine(64))
    assert said.startswith("1 of 3 requests can never fit into 4 KV blocks of 16 tokens")
    assert "request 1 (100 + 5 tokens)" in said


def test_a_loop_wider_than_the_engine_is_named():
    """A loop of 10 on 4 seats keeps 6 waiting."""
    (said,) = warnings_before(TRACE, Machine(1024, max_num_seqs=4), concurrency=10)
    assert said == ("A closed loop of 10 keeps 6 requests waiting all the time: max_num_seqs is 4.")


def test_nothing_to_serve_is_an_error():
    """A cache of 16 tokens holds none of them; the shortest has 30 + 5 tokens."""
    long = Trace(TRACE.prompt_tokens + 20, TRACE.output_tokens, TRACE.arrival_s)
    with pytest.raises(SettingError, match="None of the 3 requests fits .* the shortest has 35"):
        warnings_before(long, Machine(16))
    lengths = Trace(TRACE.prompt_tokens, TRACE.output_tokens)
    with pytest.raises(SettingError, match="no arrival times"):
        warnings_before(lengths, Machine(1024))
    assert warnings_before(lengths, Machine(1024), concurrency=2) == []
