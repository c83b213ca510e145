"""What a simulation refuses: requests that never fit, and settings that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import CaptureSizesError, SettingError
from core.records import Origin, Trace
from core.simulate import (
    PrefillCost,
    can_be_served,
    simulate,
    step_times,
)
from tests.core.small_engine import cost, machine, run, trace


def test_what_never_fits_is_rejected_and_named():
    """16 blocks of 4 hold 64 tokens: 60 + 5 - 1 fit, 60 + 6 - 1 do not."""
    result = run(trace((0, 60, 6), (0, 60, 5)))
    assert result.rejected.tolist() == [0] and result.num_served == 1
    assert np.isnan(result.finish_s[0]) and not np.isnan(result.finish_s[1])
    assert any("1 of 2 requests can never fit" in n and "60 + 6" in n for n in result.notes)
    assert can_be_served(result.trace, machine()).tolist() == [False, True]
    assert result.output_tokens == 5


def test_all_rejected_is_an_empty_run():
    """Nothing served: no step, no time, no division by zero."""
    result = run(trace((0, 600, 1)))
    assert result.makespan_s == 0 and result.steps == 0 and result.output_tps == 0
    assert result.latency().ttft_ms.p50 is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kv_tokens": 3}, "smaller than one block"),
        ({"kv_tokens": 0}, "kv_tokens is 0"),
        ({"max_num_seqs": 2.5}, "max_num_seqs is 2.5"),
        ({"max_num_batched_tokens": 3}, "need 4"),
        ({"max_num_batched_tokens": 8, "draft_tokens": 2}, "need 12"),
        ({"mode": "both"}, "mode is 'both'"),
        ({"acceptance": 1.1}, "acceptance is 1.1"),
        ({"draft_tokens": -1}, "draft_tokens is -1"),
    ],
)
def test_bad_machines_are_named(changes, says):
    """What cannot be is refused before the run, with the value and the way out."""
    with pytest.raises(SettingError, match=says):
        machine(**changes)


@pytest.mark.parametrize(
    ("requests", "options", "says"),
    [
        (Trace(np.array([], int), np.array([], int)), {}, "no request"),
        (Trace(np.array([1]), np.array([1])), {}, "no arrival times"),
        (trace((5, 1, 1), (0, 1, 1)), {}, "not in order"),
        (trace((-1, 1, 1)), {}, "start at 0"),
        (trace((0, -1, 1)), {}, "prompt_tokens holds -1"),
        (trace((0, 1, 1)), {"concurrency": 0}, "concurrency is 0"),
    ],
)
def test_bad_traces_are_named(requests, options, says):
    """A trace that cannot be run is refused in a sentence."""
    with pytest.raises(SettingError, match=says):
        run(requests, **options)


def test_bad_sizes_are_named():
    """A capture size of 0 is no capture size."""
    with pytest.raises(CaptureSizesError, match="Capture size 0"):
        run(trace((0, 1, 1)), sizes=(0, 4))


def test_context_cannot_cost_more_than_the_step():
    """A coefficient that makes the known context longer than the whole step is a mistake."""
    prefill = PrefillCost(0.0, 1.0, 1.0, 1000, Origin.ASSUMED, "")
    with pytest.raises(SettingError, match="lower context_us_per_token"):
        step_times(cost(), machine(), (1, 2, 4), prefill)


def test_absurd_step_times_do_not_wrap_the_clock():
    """Days a step would overflow the clock: said, not wrapped."""
    slow = PrefillCost(1e18, 0.0, 0.0, 0, Origin.ASSUMED, "")
    with pytest.raises(SettingError, match="check the units"):
        simulate(trace((0, 1, 1)), machine(), cost(), (1,), prefill=slow)
