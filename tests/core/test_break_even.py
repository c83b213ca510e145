"""Break-even: by hand, by the right values, and as properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.break_even import break_even, cumulative_curves
from core.bucket_break_even import bucket_break_even
from core.engines import ENGINES
from core.engines.padding import engine_padding
from core.errors import HistogramError, SettingError
from core.records import Origin, StepCost, StepHistogram
from core.verdicts import Verdict
from tests.core.cases import case
from tests.core.strategies import capture_sizes, histograms, rising_costs


def flat_cost(replay_us: float, eager_us: float, capture_ms: float, copy_us: float = 0.0):
    """The same times at every size."""
    return StepCost(
        np.array([1]),
        np.array([replay_us]),
        np.array([eager_us]),
        np.array([capture_ms]),
        Origin.ASSUMED,
        "flat",
        copy_us,
    )


def test_break_even_by_hand():
    """6+6 us eager against 1+8+1 us replayed gains 2 us: 600/2 = 300 is even, 301 saves."""
    found = break_even(600, 6 + 6, 1 + 8 + 1)
    assert (found.net_us, found.even_at, found.saves_from) == (2, 300, 301)
    # one step earlier capturing has cost more, at 300 the same, at 301 less
    assert 600 + 10 * 299 > 12 * 299
    assert 600 + 10 * 300 == 12 * 300
    assert 600 + 10 * 301 < 12 * 301


@pytest.mark.parametrize(("eager", "graph"), [(10, 10), (40.4e3, 41.9e3), (0, 0)])
def test_no_gain_never_pays_back(eager, graph):
    """A replay as slow as the eager step, or slower, never pays back."""
    found = break_even(600, eager, graph)
    assert (found.even_at, found.saves_from) == (None, None)
    assert found.net_us <= 0


def test_restored_graphs_save_from_the_first_step():
    """A capture cost of 0 (restored from disk) is even at once."""
    found = break_even(0, 12, 10)
    assert (found.even_at, found.saves_from) == (0, 1)


def test_decimals_do_not_blur_the_even_step():
    """0.6 us at a gain of 0.3 - 0.1 us is even at 3, although 0.3 - 0.1 is not quite 0.2."""
    found = break_even(0.6, 0.3, 0.1)
    assert (found.even_at, found.saves_from) == (3.0, 4)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_impossible_times_are_refused(bad):
    """A time is a finite number of 0 or more."""
    for times in ((bad, 1, 1), (1, bad, 1), (1, 1, bad)):
        with pytest.raises(SettingError):
            break_even(*times)


def test_steps_until_capture_pays():
    """17 s at 4 ms a step: 4250 steps, 85 s at 50 steps a second."""
    given_, expect = case("D-BE-01")
    found = break_even(
        given_["capture_s"] * 1e6, given_["eager_ms"] * 1e3, given_["graph_ms"] * 1e3
    )
    assert found.even_at == expect["steps"]
    # the same through a histogram that lasts as long as its steps take
    steps = 10_000
    histogram = StepHistogram(
        np.array([1]), np.array([steps]), duration_s=steps / given_["steps_per_s"]
    )
    cost = flat_cost(given_["graph_ms"] * 1e3, given_["eager_ms"] * 1e3, given_["capture_s"] * 1e3)
    whole = bucket_break_even(histogram, [1], cost).whole
    assert (whole.even_at, whole.pays_back_s) == (expect["steps"], expect["seconds"])


def test_never_pays():
    """A graph slower than eager never pays back, and the reason says by how much."""
    given_, expect = case("D-BE-02")
    found = break_even(
        given_["capture_s"] * 1e6, given_["eager_ms"] * 1e3, given_["graph_ms"] * 1e3
    )
    assert found.even_at is expect["steps"] is None
    assert found.net_us == pytest.approx(-1500)
    cost = flat_cost(given_["graph_ms"] * 1e3, given_["eager_ms"] * 1e3, given_["capture_s"] * 1e3)
    row = bucket_break_even(StepHistogram.from_batches([1]), [1], cost).rows[0]
    assert row.verdict is Verdict.LEAVE_EAGER
    assert "Never pays back" in row.reason
    assert "1,500.0 µs" in row.reason


def test_one_more_bucket():
    """A closer bucket saves 0.6 ms a step against the next larger one: 667 steps pay 0.4 s."""
    given_, expect = case("D-BE-03")
    large, small = given_["graph_ms"]["24"] * 1e3, given_["graph_ms"]["16"] * 1e3
    found = break_even(given_["capture_s"] * 1e6, large, small)
    assert found.saves_from == math.ceil(found.even_at) == expect["steps"]
    saved = found.net_us * given_["steps_per_day_that_move"] / 1e6
    paid = given_["capture_s"] * given_["restarts_per_day"]
    assert saved == pytest.approx(expect["saved_s"], abs=1e-3)
    assert saved - paid == pytest.approx(expect["net_s"], abs=1e-3)


def test_each_bucket_is_weighed_at_the_sizes_that_hit_it():
    """Eager runs the unpadded size, the graph the padded one, plus copying in."""
    # eager 10 us a row; replay 5 us a row + 1 us copy; 1 ms to capture
    sizes = np.arange(1, 9)
    cost = StepCost(sizes, 5.0 * sizes, 10.0 * sizes, np.ones(8), Origin.ASSUMED, "by hand", 1.0)
    histogram = StepHistogram.from_mapping({3: 30, 4: 10, 8: 20, 9: 5}, duration_s=100.0)
    found = bucket_break_even(histogram, [2, 4, 8], cost)
    two, four, eight = found.rows
    assert (two.hits, two.verdict) == (0, Verdict.DROP)
    # 30 steps of 3 and 10 of 4: (900 + 400) / 40 = 32.5 us eager against 5 * 4 + 1 = 21 us
    assert (four.hits, four.eager_us, four.graph_us, four.net_us) == (40, 32.5, 21.0, 11.5)
    assert four.saves_from == 87  # 1000 / 11.5 = 86.96
    assert four.pays_back_s == pytest.approx(1000 / 11.5 / 40 * 100)
    assert (eight.hits, eight.net_us, eight.saves_from) == (20, 80 - 41, 26)
    # the whole set: 40 x 11.5 + 20 x 39 us saved over 65 steps; 3 ms for the three captures
    assert found.whole.net_us == pytest.approx((40 * 11.5 + 20 * 39) / 65)
    assert found.whole.capture_us == 3000
    assert found.whole.even_at == pytest.approx(3000 / (1240 / 65))


def test_verdicts_by_hand():
    """Enough steps: at start. Too few here but within a day: on first use. Later: leave eager."""
    cost = flat_cost(replay_us=10, eager_us=20, capture_ms=1)  # even at 100 steps

    def alone(hits: int, **options):
        histogram = StepHistogram.from_mapping({3: hits}, duration_s=3600.0)
        (row,) = bucket_break_even(histogram, [3], cost, **options).rows
        assert row.alone_from == row.saves_from == 101
        return row

    # 100 steps are even, not saving; one step an hour pays back after 100 hours
    verdicts = [alone(hits).verdict for hits in (101, 100, 1)]
    assert verdicts == [Verdict.AT_START, Verdict.ON_FIRST_USE, Verdict.LEAVE_EAGER]
    assert alone(101).reason.startswith("Saves from step 101 on; this traffic has 101 of")
    assert alone(1, uptime_s=7 * 86400.0).verdict is Verdict.ON_FIRST_USE
    unused = bucket_break_even(StepHistogram.from_batches([3]), [3, 4], cost).rows[1]
    assert unused.verdict is Verdict.DROP


def test_a_bucket_is_judged_against_what_its_steps_would_run_in():
    """150 steps that gain 10 us each against eager pay 1,000 us back; against the next bucket they
    gain 5 us each, 750 in all, and do not."""
    sizes = np.arange(1, 5)
    cost = StepCost(sizes, 5.0 * sizes, 15.0 * sizes, np.ones(4), Origin.ASSUMED, "by hand")
    histogram = StepHistogram.from_mapping({1: 260, 2: 150}, duration_s=3600.0 * 24 * 2)
    one, two, four = bucket_break_even(histogram, [1, 2, 4], cost).rows
    # 1,000 us at 15 - 5 against eager: even at 100; at 10 - 5 against bucket 2: even at 200
    assert (one.saves_from, one.alone_from, one.without_us) == (101, 201, 5.0)
    assert one.verdict is Verdict.AT_START
    # 2 in 4: 20 - 10, even at 100 of 150 steps; and 4 is never used itself
    assert (two.alone_from, two.verdict) == (101, Verdict.AT_START)
    assert two.reason.endswith("take 10 µs more. The verdict on 4 itself is: drop: never used.")
    assert four.verdict is Verdict.DROP
    few = StepHistogram.from_mapping({1: 150, 2: 150}, duration_s=3600.0 * 24 * 2)
    one = bucket_break_even(few, [1, 2, 4], cost).rows[0]
    # 150 steps save against eager but not against 2; 200 of them take 2.7 days, the uptime is one
    assert one.saves_from == 101 and one.verdict is Verdict.LEAVE_TO_LARGER
    assert one.reason == (
        "Needs 201 steps to save; this traffic has 150, so it pays back after 2.7 days, later than "
        "the engine's next restart (1.0 days). Without it they would run in 2 and take 5 µs more."
    )
    flat = bucket_break_even(few, [1, 2], flat_cost(10, 20, 1)).rows[0]
    assert flat.verdict is Verdict.LEAVE_TO_LARGER and "as long as the larger" in flat.reason


def test_what_each_bucket_spares():
    """Without a bucket its steps run in the next one; above the largest they run eager."""
    sizes = np.arange(1, 9)
    cost = StepCost(sizes, 5.0 * sizes, 10.0 * sizes, np.ones(8), Origin.ASSUMED, "by hand")
    rows = bucket_break_even(StepHistogram.from_batches([2, 4, 8]), [2, 3, 4, 8], cost).rows
    # 2 -> 3: 15 - 10; 4 -> 8: 40 - 20; 8 -> eager: 80 - 40; 3 is never used
    assert [row.without_us for row in rows] == [5, None, 20, 40]
    assert "Without it they would run in 8 and take 20 µs more." in rows[2].reason
    assert "run eager and take 40 µs more" in rows[3].reason
    flat = bucket_break_even(StepHistogram.from_batches([1]), [1, 2], flat_cost(10, 20, 1)).rows
    assert "take no longer, so it can go" in flat[0].reason


def test_padding_that_makes_the_graph_slower_than_eager():
    """One row in a bucket of 8 replays 8 rows: slower than eager, so it never pays back."""
    sizes = np.arange(1, 9)
    cost = StepCost(sizes, 5.0 * sizes, 10.0 * sizes, np.ones(8), Origin.ASSUMED, "by hand")
    (row,) = bucket_break_even(StepHistogram.from_batches([1]), [8], cost).rows
    assert (row.eager_us, row.graph_us, row.saves_from) == (10, 40, None)
    assert row.verdict is Verdict.LEAVE_EAGER


def test_graphs_restored_from_disk():
    """Restoring in 0 ms saves from the first step; in 0.1 ms after 10 steps of 10 us."""
    histogram, cost = StepHistogram.from_batches([1] * 20), flat_cost(10, 20, 1)
    assert bucket_break_even(histogram, [1], cost).rows[0].even_at == 100
    free = bucket_break_even(histogram, [1], cost, restore_ms=0)
    assert (free.rows[0].saves_from, free.rows[0].verdict) == (1, Verdict.AT_START)
    assert bucket_break_even(histogram, [1], cost, restore_ms=0.1).whole.even_at == 10
    with pytest.raises(SettingError, match="Restoring"):
        bucket_break_even(histogram, [1], cost, restore_ms=-1)


def test_without_a_duration_wall_time_is_unknown():
    """Steps are known, seconds are not: no guess."""
    found = bucket_break_even(StepHistogram.from_batches([1]), [1], flat_cost(10, 20, 1))
    assert found.rows[0].pays_back_s is None
    assert found.rows[0].even_at == 100


def test_nothing_to_weigh_is_said():
    """An empty histogram has no break-even."""
    with pytest.raises(HistogramError):
        bucket_break_even(StepHistogram.from_mapping({}), [1], flat_cost(10, 20, 1))


def test_curves_cross_at_break_even():
    """The axis is twice the break-even; both curves meet in its middle."""
    curves = cumulative_curves(600, 12, 10)
    middle = len(curves.steps) // 2
    assert curves.steps[middle] == curves.even_at == 300
    assert curves.eager_us[middle] == curves.graph_us[middle] == 3600
    assert (curves.eager_us[0], curves.graph_us[0]) == (0, 600)
    assert cumulative_curves(600, 10, 12).even_at is None


@given(st.floats(0, 1e7), st.floats(0.001, 1e5), st.floats(0.001, 1e5))
def test_capturing_has_saved_exactly_from_then_on(capture, eager, graph):
    """One step before saves_from capturing has not saved yet; from it on it has."""
    found = break_even(capture, eager, graph)
    if found.saves_from is None:
        assert eager - graph <= 1e-12 * max(eager, graph)
        return
    slack = 1e-8 * max(capture, 1.0)
    assert capture + graph * found.saves_from < eager * found.saves_from + slack
    before = found.saves_from - 1
    assert capture + graph * before >= eager * before - slack


@given(histograms(), capture_sizes(), rising_costs())
def test_the_whole_set_is_the_sum_of_its_buckets(histogram, sizes, cost):
    """What the set saves over all steps is what its buckets save; captures add up."""
    found = bucket_break_even(histogram, sizes, cost)
    saved = sum(row.net_us * row.hits for row in found.rows)
    # net_us of a losing set is reported as it is, not as 0
    whole = found.whole.eager_us - found.whole.graph_us
    assert whole * histogram.total_steps == pytest.approx(saved, rel=1e-9, abs=1e-6)
    assert found.whole.capture_us == sum(row.capture_us for row in found.rows)
    assert all((row.verdict is Verdict.DROP) == (row.hits == 0) for row in found.rows)


def test_an_engine_that_does_not_pad_leaves_steps_eager():
    """TensorRT-LLM without padding: of 8 and 40 only 8 replays; without its graph it runs eager.

    Rounding up would serve 40 by 64 and let 8 fall back to 16.
    """
    steps = StepHistogram.from_mapping({8: 10, 40: 5})
    cost = flat_cost(100.0, 300.0, 1.0)
    found = engine_padding(ENGINES["trtllm"], steps)
    weighed = bucket_break_even(
        found.steps, found.report.capture_sizes, cost, look_up=found.look_up
    )
    rows = {row.size: row for row in weighed.rows}
    assert (rows[8].hits, rows[64].hits) == (10, 0)
    assert rows[8].without_us == 200  # 300 eager instead of 100
    assert "they would run eager" in rows[8].reason
    # 10 steps gain 200 us, 5 gain nothing
    assert weighed.whole.net_us == pytest.approx(10 * 200 / 15)
    padded = engine_padding(ENGINES["trtllm"], steps, None, None, {"enable_padding": True})
    weighed = bucket_break_even(
        padded.steps, padded.report.capture_sizes, cost, look_up=padded.look_up
    )
    assert {row.size: row.hits for row in weighed.rows if row.hits} == {8: 10, 40: 5}
    assert "they would run in 16" in next(r.reason for r in weighed.rows if r.size == 8)


def test_without_a_bucket_its_steps_go_where_the_rule_says():
    """Removing one bucket by hand moves exactly its steps, and costs what `without_us` says."""
    steps = StepHistogram.from_mapping({1: 4, 3: 2, 6: 1})
    cost = StepCost(
        np.array([1, 8]),
        np.array([100.0, 800.0]),
        np.array([1000.0, 1000.0]),
        np.array([1.0, 1.0]),
        Origin.ASSUMED,
        "a line",
    )
    rows = {r.size: r for r in bucket_break_even(steps, (1, 4, 8), cost).rows}
    # 1 in 4: 400 - 100; 3 in 8: 800 - 400; 6 eager: 1000 - 800
    assert [rows[n].without_us for n in (1, 4, 8)] == pytest.approx([300, 400, 200])
