"""The lessons on memory, buckets, payback and streams: by hand, and by running each hazard."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.bucket_break_even import bucket_break_even
from core.buckets import frontier
from core.errors import CaptureSizesError, HistogramError, SettingError
from core.lab.kv_budget import kv_budget, shared_pool
from core.lab.kv_cache import Padding, serve
from core.lab.kv_requests import REQUESTS, Request
from core.lab.padding_rows import largest_magnitude, rows_out_of_bounds, slot_hit
from core.lab.payback import StepModel, payback
from core.lab.piecewise import piecewise, stream_budget
from core.lab.rare_bucket import rare_bucket
from core.lab.shape_buckets import count_slots, fewer_buckets
from core.lab.two_streams import Pipeline, two_streams
from core.records import StepHistogram
from core.step_cost import assumed_step_cost
from tests.core.cases import case

# KV cache --------------------------------------------------------------------------------------


def test_kv_grows_behind_one_graph():
    """Every step is one launch at the same addresses; each result is the sum of its tokens."""
    run = serve()
    assert run.first_wrong is None
    assert set(run.launches) == {1}
    last = run.steps[7]
    # A: 10 + 11 + ... + 17 = 108; D: 5000 + 5001 + 5002 + 5003 = 20006
    assert dict(zip((r.request for r in last.rows), last.replay, strict=True)) == {
        "A": 108.0,
        "D": 20006.0,
    }
    assert max(r.length for s in run.steps for r in s.rows) == 8


def test_an_ended_requests_block_is_reused():
    """B and C end; A and D take their blocks over, and nobody's result changes."""
    reused = serve().reused
    assert {before for _, before, _ in reused} >= {"B", "C"}
    assert all(before != after for _, before, after in reused)


def test_padding_that_writes_into_live_memory_is_seen():
    """Slot -1 hits the last slot, A's second token; a row left behind hits a reused block."""
    minus = serve(Padding.MINUS_ONE)
    assert (minus.first_wrong, minus.steps[1].wrong) == (1, ("A",))
    assert minus.steps[1].cache[-1] == -7.0
    stale = serve(Padding.STALE)
    assert stale.first_wrong is not None and stale.first_wrong > 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_safe_padding_is_right_for_any_requests(shapes):
    """Whenever requests come and go, safe padding gives every request the sum of its tokens."""
    requests = [Request(f"R{i}", 10 * (i + 1), s, n) for i, (s, n) in enumerate(shapes)]
    live = max(
        sum(r.live(step) for r in requests)
        for step in range(max(r.first_step for r in requests) + 6)
    )
    run = serve(Padding.SAFE, max(live, 1), requests)
    assert run.first_wrong is None
    assert [s.padded_rows + len(s.rows) for s in run.steps] == [run.bucket] * len(run.steps)


def test_more_requests_than_rows_are_refused():
    """A bucket of 1 cannot serve two requests at once."""
    with pytest.raises(SettingError, match="bucket holds 1"):
        serve(bucket=1)
    with pytest.raises(SettingError, match="No block is left"):
        serve(requests=(*REQUESTS, Request("E", 1, 0, 9)))


def test_slot_minus_one_as_an_index():
    """-1 // 16 = -1 and -1 % 16 = 15: the last slot of block 9."""
    given_, expect = case("D-CORR-01")
    hit = slot_hit(given_["pad_slot"], given_["num_blocks"], given_["block_size"])
    assert (hit.block, hit.wrapped_block, hit.offset, hit.physical_slot) == (
        expect["block"],
        expect["wrapped_block"],
        expect["offset"],
        expect["physical_slot"],
    )
    memory = np.zeros((given_["num_blocks"], given_["block_size"]))
    memory[hit.block, hit.offset] = 1
    assert int(memory.ravel().argmax()) == hit.physical_slot
    with pytest.raises(SettingError):
        slot_hit(-1, 0, 16)


def test_metadata_shorter_than_the_graph():
    """A graph of 112 rows reads 12 rows beyond metadata of 100."""
    given_, expect = case("D-CORR-02")
    assert rows_out_of_bounds(given_["bucket"], given_["metadata_rows"]) == expect["oob_rows"]
    assert rows_out_of_bounds(8, 8) == 0


def test_nan_in_padded_rows_of_a_scale():
    """One NaN row makes the scale NaN; zeros leave it right."""
    given_, expect = case("D-CORR-04")
    assert math.isnan(largest_magnitude(given_["rows"], given_["bucket"], math.nan))
    assert largest_magnitude(given_["rows"], given_["bucket"], 0.0) == expect["right"]
    with pytest.raises(SettingError):
        largest_magnitude([1.0, 2.0], 1, 0.0)


# Buckets, payback, memory ----------------------------------------------------------------------


def test_slots_by_hand():
    """1 + 4 + 8 + 8 = 21 slots for 17; with 5 added 1 + 4 + 5 + 8 = 18."""
    report = count_slots().report
    assert (report.useful_slots, report.total_slots) == (17, 21)
    assert 100 * report.waste == pytest.approx(19.0476, abs=1e-3)
    report = count_slots(sizes=(1, 2, 4, 5, 8)).report
    assert (report.useful_slots, report.total_slots) == (17, 18)
    assert 100 * report.waste == pytest.approx(5.5556, abs=1e-3)


def test_slots_refuse_an_empty_list():
    """Without a capture size there is nothing to count."""
    with pytest.raises(CaptureSizesError):
        count_slots(sizes=())


def test_two_buckets_fewer():
    """1, 3, 5, 8 exactly: 0 padded. Best two are 3, 8 (or 5, 8): 2 + 3 = 5 padded of 22."""
    histogram = StepHistogram.from_batches([1, 3, 5, 8])
    found = fewer_buckets(histogram, frontier(histogram, max_graphs=4), 4)
    assert (found.saved_graphs, found.extra_padded) == (2, 5)
    assert found.waste_few == pytest.approx(5 / 22)
    with pytest.raises(SettingError):
        fewer_buckets(histogram, frontier(histogram, max_graphs=4), 2)


def test_payback_by_hand():
    """6 + 6 = 12 against 1 + 8 + 1 = 10; 600 / 2 = 300, saving from 301; B = 2: never."""
    found = payback()
    assert (found.eager_us, found.graph_us) == (12.0, 10.0)
    assert (found.even.even_at, found.even.saves_from) == (300.0, 301)
    found = payback(StepModel(batch=2))
    assert (found.eager_us, found.graph_us, found.even.saves_from) == (8.0, 10.0, None)
    with pytest.raises(SettingError, match="does not fit"):
        StepModel(batch=9)


def test_graphs_against_kv():
    """(8 - 4 x 0.5) / 0.25 = 24; (8 - 8 x 0.5) / 0.25 = 16."""
    found = kv_budget()
    assert (found.at_few, found.at_many) == (24, 16)
    assert found.requests[0] == 32 and found.requests[16] == 0


def test_capture_order_in_one_pool():
    """Largest first reuses one block; smallest first needs a new one each time."""
    given_, expect = case("D-MEM-04")
    pools = shared_pool(given_["needs_MiB"])
    assert pools.largest_first == expect["descending_MiB"]
    assert pools.smallest_first == expect["ascending_MiB"]
    assert pools.private == sum(given_["needs_MiB"])
    with pytest.raises(SettingError):
        shared_pool([])


@given(st.lists(st.integers(1, 100), min_size=1, max_size=8))
def test_a_shared_pool_is_never_larger_than_private_ones(needs):
    """Largest first is the largest graph; smallest first lies between it and the sum."""
    pools = shared_pool(needs)
    assert pools.largest_first == max(needs)
    assert pools.largest_first <= pools.smallest_first <= pools.private == sum(needs)


# Two streams, pieces, the rare bucket ----------------------------------------------------------


@pytest.mark.parametrize("num_buffers", [1, 2, 3])
@pytest.mark.parametrize("run_waits", [True, False])
@pytest.mark.parametrize("copy_waits", [True, False])
def test_both_waits_are_needed(num_buffers, run_waits, copy_waits):
    """Right in every order with both waits; without one of them wrong in some order, unless there
    are as many buffers as steps, where no copy ever meets an older input."""
    found = two_streams(Pipeline(num_buffers, run_waits, copy_waits), (3.0, 4.0, 5.0))
    assert found.right == (10.0, 17.0, 26.0)
    safe = run_waits and (copy_waits or num_buffers >= 3)
    assert (found.wrong_orders == 0) == safe
    assert found.orders > found.wrong_orders or not run_waits


def test_double_buffering_overlaps():
    """3 steps, copy 4 us, replay 6 us: one buffer 3 x 10 = 30 us, two 4 + 3 x 6 = 22 us."""
    assert two_streams(Pipeline(1)).makespan_us == 30.0
    assert two_streams(Pipeline(2)).makespan_us == 22.0
    assert not any(span.clash for span in two_streams(Pipeline(2)).spans)
    assert any(span.clash for span in two_streams(Pipeline(1, copy_waits=False)).spans)
    with pytest.raises(SettingError):
        Pipeline(0)


def test_pieces_follow_the_scheduler():
    """3 segments of 4 kernels and 2 gaps: 14 launches eagerly, 1 in full, 3 + 2 + 2 in pieces."""
    found = piecewise()
    assert (found.eager_launches, found.full_launches, found.piecewise_launches) == (14, 1, 7)
    # 1 + 12 x 1 + 2 x choice
    assert [r.eager for r in found.rounds] == [13, 23, 53]
    assert [r.piecewise for r in found.rounds] == [13, 23, 53]
    assert [r.full for r in found.rounds] == [13, 13, 13]


def test_more_pieces_more_boundaries():
    """80 layers at 12 us: 0.96 ms, 4.8 % of a 20 ms step."""
    given_, expect = case("D-SPEED-03")
    found = piecewise(given_["layers"], 1, (0.0,), given_["us_per_piece"], 20.0)
    assert found.overhead.extra_ms == pytest.approx(expect["extra_ms"])
    assert 100 * found.overhead.share == pytest.approx(expect["share_pct"])
    assert piecewise(5).piecewise_launches > piecewise(2).piecewise_launches
    with pytest.raises(SettingError):
        piecewise(0)


def test_stream_budget_cases():
    """48 layers x 67 sizes need 3,216 of 1,920 streams; 64 layers on two devices leave 15 sizes."""
    given_, expect = case("D-STREAM-01")
    found = stream_budget(given_["layers"], given_["sizes"], given_["factor"], given_["budget"])
    assert (found.needed, found.fits) == (expect["needed"], expect["fits"])
    assert found.max_sizes == expect["max_sizes"]
    given_, expect = case("D-STREAM-02")
    found = stream_budget(given_["layers"], 0, given_["factor"], given_["budget"])
    assert found.max_sizes == expect["max_sizes"]
    assert found.even_gap == pytest.approx(expect["even_gap"], abs=0.1)
    with pytest.raises(SettingError):
        stream_budget(0, 1)


def test_the_rare_bucket_is_the_least_used():
    """Buckets 1, 2, 8 with 100, 50 and 3 steps: bucket 8 is asked about, with 3 of 153 steps."""
    steps = StepHistogram.from_mapping({1: 100, 2: 50, 7: 3})
    result = bucket_break_even(steps, (1, 2, 4, 8), assumed_step_cost())
    found = rare_bucket(result, "test")
    assert (found.row.size, found.row.hits) == (8, 3)
    assert found.share == pytest.approx(3 / 153)
    assert found.row.verdict.value in found.derivation.answer


def test_the_rare_bucket_is_weighed_against_the_next_larger_one():
    """Steps of 4 in a bucket of 4 would pad to 8: 44 us a row, 4 rows, 176 us more; 80 ms of
    capture are paid from step 454.5.. on, while against eager steps 12 would do."""
    steps = StepHistogram.from_mapping({4: 5, 8: 100})
    found = rare_bucket(bucket_break_even(steps, (4, 8), assumed_step_cost()), "test")
    values = {step.text: step.value for step in found.derivation.steps}
    (without,) = (value for text, value in values.items() if text.startswith("without this bucket"))
    assert without == pytest.approx(4 * 44.0)
    assert values["that pays back from step, which decides"] == 80_000 // 176 + 1 == 455
    # eager at 4: 12,900 + 4 x 9.5; graph: 5,800 + 4 x 44
    assert values["against running eagerly: eager - graph"] == pytest.approx(12_938 - 5_976)
    assert values["that alone pays back from step"] == 80_000 // 6_962 + 1 == 12


def test_a_set_that_serves_nothing_has_no_rare_bucket():
    """Where all steps run eager, no bucket is rare."""
    steps = StepHistogram.from_mapping({100: 5})
    with pytest.raises(HistogramError):
        rare_bucket(bucket_break_even(steps, (1, 2), assumed_step_cost()), "test")
