"""Step time against memory and capture time, the knee, and what is amiss in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from core.choice.advice import change_sentence, set_facts
from core.choice.baselines import engine_baselines
from core.choice.trade_off import (
    TradePoint,
    knee,
    lost_us_by_size,
    trade_off,
    trade_point,
    with_marks,
)
from core.errors import HistogramError
from core.padding import padding_report
from core.records import (
    BucketSet,
    GraphMemory,
    Origin,
    PoolPolicy,
    SizeUnit,
    StepCost,
    StepHistogram,
)
from core.step_cost import assumed_graph_memory, assumed_step_cost
from tests.core.strategies import histograms, rising_costs

MIB = 2**20
# 100 us + 10 us a row replayed, 200 us + 10 us a row eager, 500 ms a capture
SIZES = np.arange(1, 65)
COST = StepCost(
    SIZES, 100 + 10.0 * SIZES, 200 + 10.0 * SIZES, np.full(64, 500.0), Origin.ASSUMED, "by hand"
)
# no pool, 2 MiB a graph
MEMORY = GraphMemory(np.array([1]), np.zeros(1), np.array([2.0 * MIB]), Origin.ASSUMED, "by hand")
TRAFFIC = StepHistogram.from_mapping({1: 50, 3: 30, 7: 20})


def traded(*sets: BucketSet, **kwargs):
    return trade_off(TRAFFIC, COST, MEMORY, sets=sets, **kwargs)


def test_points_by_hand():
    """Mean step, memory and capture time of one set."""
    point = trade_point(TRAFFIC, BucketSet("mine", (4, 8, 16)), COST, MEMORY, PoolPolicy.PRIVATE)
    # 80 steps at 140 us, 20 at 180 us
    assert point.step_us == pytest.approx((80 * 140 + 20 * 180) / 100)
    assert (point.graph_bytes, point.capture_s, point.unused) == (6 * MIB, 1.5, (16,))
    assert point.coverage == 1


def test_the_frontier_in_time_by_hand():
    """One graph of 7, then 3 and 7, then all three; floor and eager beside them."""
    trade = traded()
    assert [point.sizes for point in trade.best] == [(7,), (3, 7), (1, 3, 7)]
    # 170; (80 x 130 + 20 x 170) / 100 = 138; (50 x 110 + 30 x 130 + 20 x 170) / 100 = 128
    assert [point.step_us for point in trade.best] == pytest.approx([170, 138, 128])
    assert trade.floor_us == pytest.approx(128)
    # (50 x 210 + 30 x 230 + 20 x 270) / 100
    assert trade.eager_us == pytest.approx(228)
    assert trade.knee.sizes == (3, 7)
    assert trade.at(2).sizes == (3, 7) and trade.at(0).sizes == (7,)


def test_marking_later_is_the_same():
    """Sets marked on a frontier that is known already, instead of those that were on it."""
    sets = (BucketSet("mine", (4, 8)), BucketSet("yours", (1, 2, 7)))
    old = traded(BucketSet("old", (8,)))
    policy = PoolPolicy.SHARED_LARGEST_FIRST
    assert with_marks(old, TRAFFIC, COST, MEMORY, policy, sets) == traded(*sets)


def test_knee_by_hand():
    """Of falling step times the farthest below the line between the ends; few points: the last."""
    points = [
        TradePoint(str(k), tuple(range(1, k + 1)), us, 0, 0, 0, 1)
        for k, us in ((1, 100.0), (2, 60.0), (3, 50.0), (4, 45.0), (5, 42.0))
    ]
    # scaled sums: 1, .25 + .31, .5 + .138, .75 + .05, 1
    assert knee(points).num_graphs == 2
    assert knee(points[:2]).num_graphs == 2


def test_graphs_that_nothing_runs_are_counted():
    """Steps of 1, 3 and 7 use graphs of 1, 3 and 7; 2, 4 and 16 stay unused."""
    assert set_facts(traded(BucketSet("Today", (1, 2, 3, 4, 7, 16)))) == [
        "Today: 3 of 6 graphs are never used by this traffic."
    ]


def test_uncovered_steps_are_told():
    """Steps above the largest graph run eager; no size is told to be added."""
    assert set_facts(traded(BucketSet("Today", (1, 4)))) == [
        "Today: 20.0 % of the steps run eager, being larger than its largest graph, 4."
    ]


def test_a_list_without_fault_says_nothing():
    """Every step on a graph, every graph used."""
    assert set_facts(traded(BucketSet("Today", (1, 4, 7)))) == []


def test_what_an_edit_did_in_a_sentence():
    """Added and removed sizes, and their effect on waste, time, coverage, memory and start-up."""
    before, after = (
        trade_point(TRAFFIC, BucketSet("x", sizes), COST, MEMORY, PoolPolicy.PRIVATE)
        for sizes in ((1, 8), (1, 4, 7))
    )
    assert change_sentence(before, before) == "Nothing changed."
    # 280 useful slots; replayed 50 + 50 x 8 = 450, then 50 + 30 x 4 + 20 x 7 = 310
    # mean step (50 x 110 + 50 x 180) / 100 = 145, then (5500 + 30 x 140 + 20 x 170) / 100 = 131
    assert change_sentence(before, after) == (
        "Added 4, 7 and removed 8: waste 37.8 -> 9.7 %, mean step -9.7 %; takes 2 MiB and 0.5 s "
        "of start-up."
    )
    eager = trade_point(TRAFFIC, BucketSet("x", (1,)), COST, MEMORY, PoolPolicy.PRIVATE)
    assert "coverage 100.0 -> 50.0 %" in change_sentence(before, eager)


def test_time_lost_by_size_by_hand():
    """Padding 3 to 8 loses 50 us a step; eager loses its 100 us; an exact bucket nothing."""
    lost = lost_us_by_size(TRAFFIC, padding_report(TRAFFIC, (1, 4)), COST)
    # 3 in 4 loses 10 us, 30 times; 7 runs eager: 270 - 170 = 100 us, 20 times
    assert lost.tolist() == [0, 300, 2000]


def test_nothing_to_trade_is_said():
    """No step, no trade-off."""
    with pytest.raises(HistogramError):
        trade_off(StepHistogram.from_mapping({}), COST, MEMORY)


def test_every_engine_is_weighed_or_named():
    """Each known engine has a cost, or the reason why it has none."""
    from core.engines import ENGINES

    found = engine_baselines(TRAFFIC, assumed_step_cost())
    assert [item.engine for item in found] == list(ENGINES)
    for item in found:
        if item.skipped is None:
            report = padding_report(TRAFFIC, item.sizes)
            assert (item.waste, item.coverage) == (report.waste, report.coverage)
        else:
            assert item.cost is None and item.skipped
    lengths = StepHistogram.from_mapping({3: 5}, unit=SizeUnit.LENGTH)
    skipped = {item.engine: item.skipped for item in engine_baselines(lengths)}
    assert "its list counts" in str(skipped["vllm"])


@given(histograms(), rising_costs())
def test_no_engine_beats_the_best_list_of_as_many_graphs(histogram, cost):
    """At equal number of graphs the frontier is never worse than any default that covers all."""
    trade = trade_off(histogram, cost, assumed_graph_memory())
    for item in engine_baselines(histogram, cost):
        if item.cost is not None and item.coverage == 1.0:
            best = trade.at(len(item.sizes)).step_us * histogram.total_steps
            assert best <= item.cost * (1 + 1e-12)


def test_an_engine_that_does_not_pad_is_not_flattered():
    """TensorRT-LLM's list without padding: of 8 and 40 only 8 replays, and a sentence says why."""
    steps = StepHistogram.from_mapping({8: 10, 40: 5})
    (found,) = [b for b in engine_baselines(steps, COST) if b.engine == "trtllm"]
    # 10 x (100 + 80) replayed, 5 x (200 + 400) eager
    assert found.cost == pytest.approx(10 * 180 + 5 * 600)
    assert found.coverage == pytest.approx(10 / 15)
    assert found.padding is not None
    name = "TensorRT-LLM's default"
    trade = trade_off(
        *(steps, COST, MEMORY),
        sets=[BucketSet(name, found.sizes)],
        by_engine={name: found.padding},
    )
    (point,) = trade.marked
    assert point.step_us == pytest.approx((10 * 180 + 5 * 600) / 15)
    assert point.eager_below == pytest.approx(5 / 15)
    line = next(line for line in set_facts(trade) if line.startswith(name))
    assert "33.3 % though its largest graph" in line and "not padded up" in line
