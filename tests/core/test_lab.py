"""The lessons: each value by hand, and each hazard shown by running it."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.__main__ import main
from core.break_even import bucket_break_even
from core.buckets import frontier
from core.errors import CaptureSizesError, HistogramError, SettingError
from core.lab import answer, derivations, last_line
from core.lab.card import Card
from core.lab.contract import what_a_graph_keeps
from core.lab.derivation import number_text
from core.lab.failing_steps import HAZARDS
from core.lab.failures import attempt
from core.lab.kv_budget import kv_budget, shared_pool
from core.lab.kv_cache import Padding, serve
from core.lab.kv_requests import REQUESTS, Request
from core.lab.padding_rows import largest_magnitude, rows_out_of_bounds, slot_hit
from core.lab.payback import StepModel, payback
from core.lab.piecewise import piecewise, stream_budget
from core.lab.rare_bucket import rare_bucket
from core.lab.rebound import rebound_input
from core.lab.shape_buckets import count_slots, fewer_buckets
from core.lab.side_effects import frozen_branch, side_effects
from core.lab.static_input import two_replays, warm_up_outcomes
from core.lab.tensor import tensor
from core.lab.two_streams import Pipeline, two_streams
from core.records import StepHistogram
from core.step_cost import assumed_step_cost
from tests.conftest import ROOT
from tests.core.cases import case


def test_the_command_prints_the_four_numbers(capsys):
    """The last line, and nothing else."""
    assert main(["lab"]) == 0
    assert capsys.readouterr().out == "alias=17; clone=10; slots=21; break_even=301\n"


def test_the_command_gives_each_step_as_json(capsys):
    """Every lesson has a question, assumptions, steps with units and an answer."""
    assert main(["lab", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["alias"], found["clone"], found["slots"]) == (17, 10, 21)
    assert found["break_even"] == 301
    assert len(found["lessons"]) >= 12
    for lesson in found["lessons"]:
        assert lesson["question"] and lesson["assumptions"] and lesson["answer"]
        assert lesson["steps"] and all({"text", "value", "unit"} <= set(s) for s in lesson["steps"])


def test_the_line_is_computed(monkeypatch):
    """With another step, other lists and another cost the line changes."""
    import core.lab as lab

    monkeypatch.setattr(lab, "two_replays", lambda: two_replays(5.0, 6.0))
    monkeypatch.setattr(lab, "count_slots", lambda *a, **k: count_slots((1, 3, 5, 8), (1, 4, 8)))
    monkeypatch.setattr(lab, "payback", lambda *a: payback(StepModel(capture_us=100.0)))
    # 5 * 5 + 1 = 26, 6 * 6 + 1 = 37; 1 + 4 + 8 + 8 = 21 still; 100 / 2 = 50
    assert last_line(answer()) == "alias=37; clone=26; slots=21; break_even=51"


def test_the_lab_needs_numpy_only():
    """A fresh interpreter that imports the lab has loaded no other library."""
    code = "import sys, core.lab; print(*sorted(m for m in sys.modules if '.' not in m))"
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(out.stdout.split())
    assert "numpy" in loaded
    assert not loaded & {"torch", "pandas", "numba", "streamlit", "plotly", "sqlalchemy", "scipy"}


def test_no_lesson_has_an_empty_value():
    """Values are finite numbers, words, yes or no, or None for never."""
    for derivation in derivations():
        for step in derivation.steps:
            numbers = step.value if isinstance(step.value, tuple) else (step.value,)
            assert all(math.isfinite(v) for v in numbers if isinstance(v, float)), step


def test_number_text():
    """How values are printed."""
    texts = [number_text(v) for v in (1234.5, None, True, (1.0, 2.0), "x")]
    assert texts == ["1,234.5", "never", "yes", "1, 2", "x"]


# What a graph keeps ----------------------------------------------------------------------------


def test_a_graph_keeps_parameters_and_addresses():
    """x 2 -> 5 is followed (3 * 5 + 1 = 16); scale 3 -> 10 is not (eager 51)."""
    kept = what_a_graph_keeps()
    assert [(r.eager, r.replay) for r in kept.rounds] == [(7, 7), (16, 16), (51, 16)]
    multiply, add = kept.nodes
    assert multiply.parameters == (3.0,) and multiply.reads == (kept.input_address,)
    assert add.reads == multiply.writes and kept.edges == ((0, 1),)
    assert (kept.eager_launches, kept.replay_launches) == (2, 1)


# Static input ----------------------------------------------------------------------------------


def test_two_replays():
    """3 * 3 + 1 = 10 is cloned; 4 * 4 + 1 = 17 lies where the alias looks."""
    found = two_replays()
    assert (found.alias, found.clone) == (17.0, 10.0)
    assert found.output_address != found.clone_address


@given(st.integers(-20, 20), st.integers(-20, 20))
@settings(max_examples=30, deadline=None)
def test_two_replays_of_any_inputs(first, second):
    """The alias always shows the second input, the clone the first."""
    found = two_replays(float(first), float(second))
    assert (found.alias, found.clone) == (second**2 + 1, first**2 + 1)


def test_output_aliasing_case():
    """y = 10 x, read after two replays: the alias has the second result, a clone the first."""
    _, expect = case("D-CORR-03")
    card = Card()
    x = tensor(card, [0.0])
    with card.capture() as graph:
        y = x * 10.0
    x.fill_(1.0)
    graph.replay()
    clone = y.clone()
    x.fill_(2.0)
    graph.replay()
    assert (y.item(), clone.item()) == (expect["read"], expect["with_clone"])


@pytest.mark.parametrize(
    ("before", "after", "values"),
    [
        (True, True, {10.0}),
        (False, True, {10.0, 1.0}),
        (True, False, {10.0, 17.0}),
    ],
)
def test_a_warm_up_needs_both_waits(before, after, values):
    """Without the first it may read x = 0 (1); without the second x may be 4 already (17)."""
    found = warm_up_outcomes(before, after)
    assert set(found.outcomes) == values
    assert found.safe == (before and after)


def test_a_warm_up_with_no_wait_may_give_anything():
    """All three values, and a mixture of inputs where the two factors differ would show too."""
    found = warm_up_outcomes(False, False)
    assert {1.0, 10.0, 17.0} <= set(found.outcomes) and not found.safe


# Rebound, side effects, branches ---------------------------------------------------------------


def test_the_rebound_variable_reads_zero():
    """The replay reads 0 and gives 0 * 0 + 1; copy_ mends it."""
    found = rebound_input(3.0)
    assert (found.read_rebound, found.rebound, found.mended, found.eager) == (0, 1, 10, 10)
    assert found.graph_address != found.name_address


def test_a_python_counter_stands_still():
    """Warm-ups and one capture count; replays do not. A counter on the card counts replays."""
    given_, expect = case("D-CORR-05")
    found = side_effects(given_["warmups"], given_["replays"])
    assert (found.counter, found.expected) == (expect["counter"], expect["expected_by_user"])
    assert len(found.printed) == found.appended == expect["counter"]
    assert found.device_counter == given_["warmups"] + given_["replays"]


def test_side_effects_refuse_negative_counts():
    """Fewer than no warm-ups or replays is bad input."""
    with pytest.raises(SettingError):
        side_effects(-1, 3)


def test_the_branch_of_the_capture_is_frozen():
    """x = 5: captured with True gives 10 always; a graph per branch follows the flag."""
    rounds = frozen_branch((True, False, True)).rounds
    assert [r.frozen for r in rounds] == [10, 10, 10]
    assert [r.eager for r in rounds] == [r.per_branch for r in rounds] == [10, -5, 10]
    assert [r.frozen for r in frozen_branch((True, False), captured_flag=False).rounds] == [-5, -5]


# Capture failures ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "klass", "code", "line"),
    [
        (".item()", "host_sync", 900, ".item()"),
        ("nonzero()", "data_dependent_shape", 900, ".nonzero()"),
        (".cpu()", "host_sync", 900, ".cpu()"),
        ("a host tensor", "h2d_copy", None, "tensor(x.card"),
        ("synchronize()", "host_sync", 900, "synchronize()"),
        ("an unjoined stream", "unjoined", 904, "card.capture()"),
    ],
)
def test_each_failure_is_real_and_diagnosed(name, klass, code, line):
    """The broken step raises, the doctor names it with its line, and the mended one replays what
    the broken one gives eagerly, at an input that the capture did not see."""
    found = attempt(name)
    assert (found.first.klass, found.first.code) == (klass, code)
    assert found.first.site is not None and line in found.first.site.code
    assert found.eager == found.replay
    assert "Traceback" in found.log and str(ROOT) not in found.log


def test_every_hazard_is_tested_and_unknown_ones_are_refused():
    """Six hazards, of both kinds; another name is bad input."""
    assert len(HAZARDS) == 6 and {h.waits for h in HAZARDS} == {True, False}
    with pytest.raises(SettingError, match="known are"):
        attempt("nothing")


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


def test_a_set_that_serves_nothing_has_no_rare_bucket():
    """Where all steps run eager, no bucket is rare."""
    steps = StepHistogram.from_mapping({100: 5})
    with pytest.raises(HistogramError):
        rare_bucket(bucket_break_even(steps, (1, 2), assumed_step_cost()), "test")
