"""Choosing K: dragged, typed or by price; and one best set for several traffics."""

from __future__ import annotations

import pytest

from tests.app.apptest import (
    BATCHES,
    figure,
    numbers,
    open_app,
    table_row,
    texts,
    to_page,
    with_file,
)

pytestmark = pytest.mark.usefixtures("own_database")


def on_buckets():
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["Best possible"]).run()
    return at


def test_k_is_dragged_or_typed():
    """Slider and number are one value, whichever was moved last, also after another page."""
    at = on_buckets()
    at.slider(key="best_k_slider").set_value(3).run()
    assert at.number_input(key="best_k").value == 3
    assert table_row(at, "bucket set", "Best possible, K=3")["graphs"] == 3
    at.number_input(key="best_k").set_value(2).run()
    assert at.slider(key="best_k_slider").value == 2
    assert table_row(at, "bucket set", "Best possible, K=2")["graphs"] == 2
    to_page(at, "memory.py")
    to_page(at, "buckets.py")
    assert (at.slider(key="best_k_slider").value, at.number_input(key="best_k").value) == (2, 2)


def test_the_next_graph_and_its_price():
    """1, 3, 5, 8: the second graph saves 10 padded slots, the third 3, the fourth 2.

    At a price of 2.5 the first three are worth it.
    """
    at = on_buckets()
    at.segmented_control(key="frontier_view").set_value("The next graph").run()
    bars = figure(at, "What the next graph saves")["data"][0]
    assert (numbers(bars["x"]), numbers(bars["y"])) == ([2, 3, 4], [10, 3, 2])
    at.number_input(key="price_slots").set_value(2.5).run()
    assert not at.exception
    assert "**3 graphs are worth that price**; the last of them saves 3 padded slots" in texts(at)
    at.button(key="take_k").click().run()
    assert at.number_input(key="best_k").value == 3
    assert table_row(at, "bucket set", "Best possible, K=3")["padded slots"] == "2"


def test_a_graph_that_does_not_pay_back_is_not_worth_it():
    """Judged by time the price is a capture, 80 ms by assumption: four steps never earn it."""
    at = on_buckets()
    at.segmented_control(key="best_objective").set_value("least step time")
    at.segmented_control(key="frontier_view").set_value("The next graph").run()
    assert not at.exception
    assert at.number_input(key="price_ms").value == 80.0
    assert "**1 graph is worth that price**" in texts(at)
    at.number_input(key="price_ms").set_value(0.0).run()
    assert "**4 graphs are worth that price**" in texts(at)


OTHER = b"batch,count\n2,1000\n"


def test_the_best_set_serves_several_traffics():
    """1, 3, 5, 8 once each and 2 a thousand times: of two graphs one is now 2, and both are shown.

    Alone 3 and 8 pad 5 slots; together 3 would pad the thousand.
    """
    at = on_buckets()
    at.number_input(key="best_k").set_value(2).run()
    assert table_row(at, "bucket set", "Best possible, K=2")["padded slots"] == "5"
    at.file_uploader(key="other_files").set_value([("night.csv", OTHER, "text/csv")]).run()
    assert not at.exception and not any("night" in w.value for w in at.warning)
    # 2 and 8: 1 -> 2, 3 -> 8, 5 -> 8: 1 + 5 + 3
    assert table_row(at, "bucket set", "Best possible, K=2")["padded slots"] == "9"
    assert table_row(at, "traffic", "this traffic")["waste"] == "34.6 %"  # 9 of 26 slots
    assert table_row(at, "traffic", "night.csv")["waste"] == "0.0 %"
    to_page(at, "break_even.py")
    assert table_row(at, "bucket", 2)["bucket"] == 2, "other pages choose for both as well"


def test_other_loads_of_the_same_requests():
    """The example at twice the load has larger steps; the best set covers both loads."""
    at = open_app("buckets.py", example="1")
    at.pills(key="other_loads").set_value([4.0]).run()
    assert not at.exception
    rows = [f.value for f in at.dataframe if "traffic" in f.value.columns][0]
    best = rows[rows["bucket set"] == "Best possible, K=16"]
    assert list(best["traffic"]) == ["this traffic", "load x4"]
    assert list(best["eager steps"]) == ["0", "0"]
