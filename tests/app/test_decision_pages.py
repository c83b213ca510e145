"""Buckets, Break-even and Memory: the numbers of core, on the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.app.apptest import (
    BATCHES,
    figure,
    numbers,
    open_app,
    shown,
    table_row,
    texts,
    to_page,
    with_file,
)

pytestmark = pytest.mark.usefixtures("own_database")


def test_four_batches_waste_four_of_twenty_one():
    """Batches 1, 3, 5, 8 on 1, 2, 4, 8: 17 useful of 21 slots, waste 19.0 %; with 5, 1 of 18."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["My list"])
    at.text_input(key="own_sizes").set_value("1 2 4 8").run()
    row = table_row(at, "bucket set", "My list")
    assert (row["waste"], row["padded slots"]) == ("19.0 %", "4")
    at.text_input(key="own_sizes").set_value("1 2 4 5 8").run()
    row = table_row(at, "bucket set", "My list")
    assert (row["waste"], row["padded slots"]) == ("5.6 %", "1")


def test_padding_chart_shows_the_padded_slots():
    """The bars are the report's numbers: sizes 1, 3, 5, 8 pad 0, 1, 3, 0 slots."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["My list"])
    at.text_input(key="own_sizes").set_value("1 2 4 8").run()
    traces = {t["name"]: t for t in figure(at, "Slots")["data"] if t.get("x")}
    assert numbers(traces["padded"]["x"]) == [1, 3, 5, 8]
    assert numbers(traces["padded"]["y"]) == [0, 1, 3, 0]
    assert numbers(traces["useful"]["y"]) == [1, 3, 5, 8]


def test_best_set_reaches_zero_padding_with_a_graph_for_each_size():
    """The frontier of four distinct sizes ends at K=4 without padding."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    best = figure(at, "Padding against")["data"][0]
    assert numbers(best["x"])[:4] == [1, 2, 3, 4]
    assert numbers(best["y"])[3] == 0
    assert numbers(best["y"])[0] == pytest.approx(100 * 15 / 32)  # 1,3,5,8 all in bucket 8


def test_a_list_that_is_no_list_is_answered_with_a_sentence():
    """A typing error names the piece, and the other sets stay."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["My list", "Powers of two"])
    at.text_input(key="own_sizes").set_value("1, two, 4").run()
    assert not at.exception
    assert "'two' is not a capture size" in at.warning[0].value.replace("\\", "")
    assert table_row(at, "bucket set", "Powers of two")["graphs"] == 4


@pytest.mark.parametrize("typed", ["a,b", "0", "-4"])
def test_a_list_that_is_no_list_is_told_before_it_is_compared(typed: str):
    """The sentence stands below the field, once, whether or not the list is among the sets."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    assert "My list" not in at.multiselect(key="sets").value

    def told() -> int:
        return sum(shown(warning.value).startswith("My list: ") for warning in at.warning)

    assert told() == 0
    at.text_input(key="own_sizes").set_value(typed).run()
    assert told() == 1
    at.text_input(key="own_sizes").set_value("1, 8").run()
    assert told() == 0


def test_break_even_page_says_never_when_nothing_is_gained():
    """The verdict table has a row for each bucket of the chosen set."""
    at = to_page(with_file(BATCHES, "batches.csv"), "break_even.py")
    at.selectbox(key="even_set").set_value("Powers of two").run()
    sizes = {table_row(at, "bucket", size)["bucket"] for size in (1, 2, 4, 8)}
    assert sizes == {1, 2, 4, 8}
    assert table_row(at, "bucket", 2)["verdict"].startswith("drop")  # no step of size 2


def test_more_graphs_leave_fewer_kv_tokens():
    """Every curve on the Memory page falls with the number of graphs."""
    at = open_app("memory.py", example="1")
    for trace in figure(at, "KV cache left")["data"]:
        if trace["mode"] == "lines":
            assert (np.diff(numbers(trace["y"])) <= 0).all()


def test_the_axis_gives_the_requests_that_the_table_shows():
    """Requests hold whole blocks of 16 tokens: KV tokens over the axis' divisor are the table's."""
    at = open_app("memory.py", example="1")
    title = figure(at, "KV cache left")["layout"]["yaxis"]["title"]["text"]
    (divisor,) = re.findall(r"÷ ([\d,]+) =", title)
    held = int(divisor.replace(",", ""))
    typical = float(at.number_input(key="tokens_per_request").value or 0)
    assert held % 16 == 0 and 0 <= held - typical < 16 and f"holds {held:,}: whole" in texts(at)
    row = table_row(at, "bucket set", "Powers of two")
    tokens, requests = (
        int(str(row[k]).replace(",", "")) for k in ("KV tokens", "concurrent requests")
    )
    assert tokens // held == requests


def test_best_set_respects_what_is_asked():
    """Two graphs in multiples of 4: 4 and 8. With 6 included in any case: 6 and 8."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["Best possible"])
    at.number_input(key="best_k").set_value(2)
    at.number_input(key="best_multiple").set_value(4).run()
    assert not at.exception and not at.error
    row = table_row(at, "bucket set", "Best possible, K=2")
    assert (row["graphs"], row["padded slots"]) == (2, "7")  # 1->4, 3->4, 5->8: 3+1+3
    at.number_input(key="best_multiple").set_value(1)
    at.text_input(key="best_include").set_value("6").run()
    row = table_row(at, "bucket set", "Best possible, K=2")
    assert row["padded slots"] == "9"  # 6 and 8: 1->6, 3->6, 5->6: 5+3+1


def test_advice_stands_under_the_trade_off():
    """Judged by step time, the chart has a floor below every point and advice in words."""
    at = open_app("buckets.py", example="1")
    at.segmented_control(key="frontier_view").set_value("Step time").run()
    assert not at.exception
    spec = figure(at, "Mean step time")
    floor = spec["layout"]["shapes"][0]["y0"]
    assert all(y >= floor * (1 - 1e-9) for trace in spec["data"] for y in numbers(trace["y"]))
    assert "vLLM default" in texts(at)


def test_the_assumed_cost_can_be_adjusted():
    """A replay that takes longer than an eager step never pays back."""
    at = to_page(with_file(BATCHES, "batches.csv"), "break_even.py")
    at.number_input(key="cost_step_us").set_value(50_000.0)
    at.number_input(key="cost_launch_us").set_value(100.0).run()
    assert not at.exception
    shown = {m.label: m.value for m in at.metric}
    assert shown["saves from step"] == "never"


def test_a_roofline_is_labelled_estimated():
    """Model and card give a step cost that says estimated and names the card."""
    at = open_app("break_even.py", example="1")
    at.selectbox(key="cost_name").set_value("Estimated: roofline of model and card").run()
    assert not at.exception and not at.error
    assert "roofline" in texts(at) and "H200" in texts(at)


def test_restored_graphs_save_from_the_first_step():
    """Graphs restored from disk cost nothing to capture: they save from step 1."""
    at = open_app("break_even.py", example="1")
    at.checkbox(key="restored").set_value(True).run()
    assert not at.exception
    assert {m.label: m.value for m in at.metric}["saves from step"] == "1"


def test_the_choice_is_checked_on_later_traffic():
    """The first half's best list is scored on the second half of the trace."""
    at = open_app("buckets.py", example="1")
    at.button(key="check_choice").click().run()
    assert not at.exception and not at.error
    assert "16 graphs chosen on the first half" in texts(at)


@pytest.mark.parametrize("view", ["Steps a bucket serves", "Steps covered", "Time lost"])
def test_every_view_of_the_sets_is_drawn(view):
    """Hits, coverage and time lost are drawn for every chosen set."""
    at = open_app("buckets.py", example="1")
    at.segmented_control(key="bucket_view").set_value(view).run()
    assert not at.exception and not at.warning[1:]
    titles = {"Steps a bucket serves": "Steps each", "Steps covered": "Steps covered"}
    spec = figure(at, titles.get(view, "Time lost"))
    assert len([t for t in spec["data"] if t.get("x")]) >= 3


def test_the_trade_off_marks_the_defaults_and_names_the_knee():
    """Against graph memory each point carries its list, engines' defaults are marked too."""
    at = open_app("buckets.py", example="1")
    at.segmented_control(key="frontier_view").set_value("Step time").run()
    at.segmented_control(key="trade_axis").set_value("graph memory").run()
    assert not at.exception
    spec = figure(at, "Mean step time against the graph memory")
    names = {trace["name"] for trace in spec["data"]}
    assert {"vLLM default", "SGLang default", "Powers of two"} <= names
    assert any("knee" in note.get("text", "") for note in spec["layout"]["annotations"])
    assert spec["data"][0]["customdata"][0][3]


def test_what_an_edit_did_is_told_in_a_sentence():
    """Adding 5 to 1, 2, 4, 8 is named, with what it did."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.text_input(key="own_sizes").set_value("1, 2, 4, 8").run()
    at.text_input(key="own_sizes").set_value("1, 2, 4, 5, 8").run()
    assert not at.exception
    line = next(m.value for m in at.markdown if m.value.startswith("**My list**"))
    assert "Added 5: waste 19.0 -> 5.6 %" in line  # 4 of 21 slots, then 1 of 18


def test_an_engine_default_follows_the_engines_own_rule():
    """TensorRT-LLM pads nothing by default: of sizes 1 and 40 (no captured size) 40 runs eager."""
    at = to_page(with_file(b"batch,count\n1,3\n40,2\n", "two.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["trtllm"]).run()
    assert not at.exception
    row = table_row(at, "bucket set", "TensorRT-LLM default")
    assert (row["padded slots"], row["eager steps"]) == ("0", "2")


def test_break_even_and_trade_off_follow_the_engines_own_rule():
    """TensorRT-LLM without padding: of sizes 8 and 40 only 8 replays, on every page alike.

    Rounding up would serve 40 by the graph of 64.
    """
    at = to_page(with_file(b"batch,count\n8,10\n40,5\n", "two.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["trtllm"]).run()
    mean = table_row(at, "bucket set", "TensorRT-LLM default")["mean step"]
    at.segmented_control(key="frontier_view").set_value("Step time").run()
    spec = figure(at, "Mean step time")
    (point,) = [t for t in spec["data"] if t["name"] == "TensorRT-LLM default"]
    assert f"{numbers(point['y'])[0]:.2f} ms" == mean
    assert "33.3 % though its largest graph" in texts(at)
    to_page(at, "break_even.py")
    assert not at.exception and not at.error
    assert table_row(at, "bucket", 8)["steps"] == "10"
    assert table_row(at, "bucket", 64)["verdict"].startswith("drop")
    assert "run eager" in table_row(at, "bucket", 8)["why"]
