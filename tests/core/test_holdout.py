"""Lists scored on traffic they were not chosen on."""

from __future__ import annotations

import numpy as np
import pytest

from core.choice.holdout import hold_out, split_steps, split_trace
from core.errors import HistogramError, SettingError
from core.records import Origin, StepCost, StepHistogram, Trace


def test_a_trace_is_cut_in_two():
    """The second half starts at 0 s again; nothing is lost."""
    trace = Trace(
        np.array([1, 2, 3, 4]), np.array([5, 6, 7, 8]), np.array([0.0, 1.0, 4.0, 6.0]), name="t"
    )
    first, second = split_trace(trace)
    assert first.prompt_tokens.tolist() == [1, 2] and second.output_tokens.tolist() == [7, 8]
    assert second.arrival_s is not None and second.arrival_s.tolist() == [0, 2]
    third, rest = split_trace(trace, 0.25)
    assert (len(third), len(rest)) == (1, 3)
    with pytest.raises(SettingError):
        split_trace(trace, 1.0)
    with pytest.raises(HistogramError):
        split_trace(Trace(np.array([1]), np.array([1])))


def test_regret_by_hand():
    """Chosen on {1, 3}, scored on {2, 3}: 2 pads to 3; its own best list pads nothing."""
    first, second = StepHistogram.from_batches([1, 3]), StepHistogram.from_batches([2, 3])
    one, two = hold_out(first, second, [1, 2])
    # one graph of 3 is best for both
    assert (one.sizes, one.regret) == ((3,), 0)
    # {1, 3} pads 1 of 6 slots; {2, 3} pads none
    assert (two.sizes, two.waste_own, two.waste, two.waste_best) == ((1, 3), 0, 1 / 6, 0)
    assert two.regret == 1 / 6
    assert two.step_regret is None


def test_larger_steps_run_eager_unless_guarded():
    """What the first half never saw is uncovered; a guard holds it at the price of a graph."""
    first, second = StepHistogram.from_batches([1, 3]), StepHistogram.from_batches([3, 9])
    (found,) = hold_out(first, second, [2])
    assert found.coverage == 0.5
    (guarded,) = hold_out(first, second, [3], guard=16)
    assert (guarded.coverage, guarded.sizes) == (1, (1, 3, 16))
    with pytest.raises(SettingError, match="steps of 9 occur"):
        hold_out(first, second, [3], guard=8)


def test_regret_in_time():
    """With step times the regret is a share of the second half's own best step."""
    sizes = np.arange(1, 10)
    cost = StepCost(sizes, 10.0 * sizes, 90.0 + sizes, np.ones(9), Origin.ASSUMED, "by hand")
    first, second = StepHistogram.from_batches([1, 3]), StepHistogram.from_batches([2, 3])
    (found,) = hold_out(first, second, [2], cost=cost)
    # (30 + 30) / 2 = 30 against (20 + 30) / 2 = 25
    assert (found.step_us, found.best_step_us) == (30, 25)
    assert found.step_regret == pytest.approx(0.2)


def test_random_halves_of_the_steps():
    """Each step lands in one half; the same seed gives the same halves."""
    histogram = StepHistogram.from_mapping({1: 1000, 5: 400, 9: 1})
    left, right = split_steps(histogram, seed=3)
    total = dict.fromkeys(histogram.sizes.tolist(), 0)
    for half in (left, right):
        for size, steps in zip(half.sizes.tolist(), half.steps.tolist(), strict=True):
            total[size] += steps
    assert total == {1: 1000, 5: 400, 9: 1}
    assert split_steps(histogram, seed=3)[0].steps.tolist() == left.steps.tolist()
    assert abs(left.total_steps - 700) < 100
    with pytest.raises(HistogramError):
        split_steps(StepHistogram.from_batches([1]))
