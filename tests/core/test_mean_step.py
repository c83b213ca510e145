"""Mean step time: by hand, and equal to the cost of the set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.buckets import frontier, set_cost
from core.choice.trade_off import lost_us_by_size
from core.cost.mean_step import mean_step_us
from core.engines import ENGINES
from core.engines.padding import engine_padding
from core.errors import CostUnitError, HistogramError
from core.padding import padding_report
from core.records import Origin, SizeUnit, StepCost, StepHistogram
from core.step_cost import assumed_step_cost

COST = StepCost(
    np.array([1, 11]),
    np.array([100.0, 200.0]),
    np.array([300.0, 300.0]),
    np.array([1.0, 1.0]),
    Origin.ASSUMED,
    "by hand: replay 90 + 10 a row, eager 300",
    5.0,
)


def test_by_hand():
    """Sizes 1, 3 and 9 on 1, 4: (105 + 135 + 300) / 3; copying in adds 5 to each replay."""
    steps = StepHistogram.from_mapping({1: 1, 3: 1, 9: 1})
    assert mean_step_us(steps, padding_report(steps, (1, 4)), COST) == pytest.approx(180)


@given(
    st.dictionaries(st.integers(1, 400), st.integers(1, 99), min_size=1),
    st.lists(st.integers(1, 500), min_size=1, max_size=9),
)
def test_rounding_up_costs_what_the_set_costs(counts, sizes):
    """Over all steps it is the set's cost."""
    steps, cost = StepHistogram.from_mapping(counts), assumed_step_cost()
    found = mean_step_us(steps, padding_report(steps, sizes), cost) * steps.total_steps
    assert found == pytest.approx(set_cost(steps, sizes, cost))


def test_an_engine_without_padding_runs_other_sizes_eager():
    """TensorRT-LLM's default pads nothing: a step of 40 takes the eager time, not bucket 64's."""
    steps = StepHistogram.from_mapping({40: 1})
    report = engine_padding(ENGINES["trtllm"], steps).report
    assert mean_step_us(steps, report, COST) == pytest.approx(300)


def test_what_has_no_mean_is_said():
    """No step, or prompt lengths under a decode cost, is an error and not a number."""
    empty = StepHistogram.from_mapping({})
    with pytest.raises(HistogramError):
        mean_step_us(empty, padding_report(empty, (1,)), COST)
    prompts = StepHistogram.from_mapping({100: 1}, unit=SizeUnit.LENGTH)
    with pytest.raises(CostUnitError):
        mean_step_us(prompts, padding_report(prompts, (128,)), COST)


def test_the_hosts_part_is_in_the_mean_and_in_no_difference():
    """100 us a graph of 4 or 8 slots and 10 us a request: steps of 3 (twice) and 8 have a mean of
    (2 x 130 + 180) / 3; what the padded ones lose to a graph of their own does not hold it."""
    sizes = np.array([3, 4, 8], np.int64)
    curve = np.array([90.0, 100.0, 100.0])
    cost = StepCost(sizes, curve, curve, np.zeros(3), Origin.FITTED, "by hand", row_us=10.0)
    steps = StepHistogram.from_mapping({3: 2, 8: 1})
    report = padding_report(steps, (4, 8))
    assert mean_step_us(steps, report, cost) == pytest.approx(440 / 3)
    assert set_cost(steps, (4, 8), cost) == pytest.approx(440)
    assert frontier(steps, max_graphs=2, cost=cost, candidates=(4, 8)).at(2).cost == 440
    assert lost_us_by_size(steps, report, cost).tolist() == [20.0, 0.0]
