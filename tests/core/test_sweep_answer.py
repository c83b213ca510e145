"""What a sweep says, by hand: the best set, and where more graphs stop paying."""

from __future__ import annotations

import pytest

from core.errors import SettingError
from core.records.sweep import Sweep, SweepRow
from core.serving.answer import load_answer, serving_text, todays_load


def row(graphs: int, kv_tokens: int, goodput: float | None = None, **figures) -> SweepRow:
    sizes = tuple(range(1, graphs + 1))
    return SweepRow(*(f"best {graphs}", sizes, 1.0, 0.0, kv_tokens), goodput_rps=goodput, **figures)


ROWS = (
    row(0, 1000, 5.0, e2e_p50_ms=9000.0),
    row(4, 900, 9.95, e2e_p50_ms=1000.0, preemptions=3),
    row(8, 800, 10.0, e2e_p50_ms=995.0, preemptions=12),
    row(16, 600, 8.0, e2e_p50_ms=4000.0, preemptions=1234),
)
FOUND = Sweep(ROWS)


def test_more_graphs_stop_paying():
    """4 graphs serve 9.95 of 10.0, within 1 %; 16 graphs serve 8.0, 20 % less, take 300 tokens
    more and preempt 1,234 requests instead of 3."""
    answer = load_answer(FOUND, 1.0, 4, "goodput_rps")
    assert answer.best is ROWS[1] and answer.more is ROWS[3]
    assert answer.loss == pytest.approx(0.2) and answer.kv_lost_tokens == 300
    assert answer.text == (
        "the fewest within 1 % of the best: 4 graphs, which leave 900 KV tokens. More stop paying: "
        "with 16 graphs it is 20 % worse; they take 300 KV tokens more, and 1,234 requests are "
        "preempted instead of 3."
    )


def test_lower_is_better_for_times():
    """Median of 1,000 ms is within 1 % of 995 ms; 4,000 ms are 302 % more than that."""
    answer = load_answer(FOUND, 1.0, 4, "e2e_p50_ms")
    assert answer.best is ROWS[1] and answer.loss == pytest.approx(4000 / 995 - 1)
    assert "with 16 graphs it is 302 % worse" in answer.text


def test_more_that_are_no_worse_are_said_to_bring_nothing():
    """Without the 16 graphs the most are 8, which are the best: nothing is lost but KV cache."""
    answer = load_answer(Sweep(ROWS[:3]), 1.0, 3, "goodput_rps")
    assert answer.loss == 0.0
    assert answer.text.endswith("With 8 graphs it is no better, and they take 100 KV tokens more.")


def test_the_largest_set_may_be_the_best():
    """Then nothing is said of more graphs."""
    answer = load_answer(Sweep((ROWS[0], ROWS[2])), 1.0, 2, "goodput_rps")
    assert answer.more is None and answer.text.endswith("8 graphs, which leave 800 KV tokens.")


def test_rows_so_far_are_said_to_be_so():
    """Two of four sets: the answer may change."""
    assert load_answer(Sweep(ROWS[:2]), 1.0, 4, "goodput_rps").text.endswith(
        "which leave 900 KV tokens. So far of 2 of 4 sets."
    )


def test_steps_that_find_no_graph_are_said():
    """30 of 100 steps are 30 %; 1 of 100 is no more than 1 % and left unsaid; rows that were not
    counted say nothing."""
    few = row(4, 90, 9.0, eager_steps=30, decode_steps=100)
    answer = load_answer(Sweep((row(0, 100, 5.0), few)), 1.0, 2, "goodput_rps")
    assert answer.text.endswith("With 4 graphs 30 % of the decode steps run eager.")
    alike = Sweep((row(0, 100, 9.0), few))
    assert load_answer(alike, 1.0, 2, "goodput_rps").text == (
        "no graphs at all is within 1 % of the best. With 4 graphs it is no better, and they take "
        "10 KV tokens more. With 4 graphs 30 % of the decode steps run eager."
    )
    for counts in ({"eager_steps": 1, "decode_steps": 100}, {"eager_steps": 30}):
        found = Sweep((row(4, 90, 9.0, **counts),))
        assert "eager" not in load_answer(found, 1.0, 1, "goodput_rps").text


def test_no_graphs_may_be_best_and_no_set_may_serve():
    """Eager within 1 %; nothing within the limits; nothing at all; no KV cache left."""
    alike = Sweep((row(0, 100, 5.0), row(4, 90, 5.01)))
    assert load_answer(alike, 1.0, 2, "goodput_rps").text.startswith("no graphs at all")
    none = Sweep((row(0, 100, 0.0), row(4, 90, 0.0)))
    assert "no set served anything" in load_answer(none, 1.0, 2, "goodput_rps").text
    broken = Sweep((row(4, 0, error="nothing is left"),))
    assert load_answer(broken, 1.0, 1, "goodput_rps").text == "no set could serve."
    full = Sweep((*ROWS[:2], row(64, 0, error="nothing is left")))
    assert "With 64 graphs no KV cache is left" in load_answer(full, 1.0, 3, "goodput_rps").text
    assert load_answer(FOUND, 2.0, 4, "goodput_rps").best is None


def test_the_best_serving_set_by_hand():
    """9.95 and 10.0 are within 1 % of the most; 1,000 and 995 ms within 1 % of the soonest: so
    the fewest graphs of the two. Where all serve alike, the time decides."""
    assert FOUND.best_serving(1.0) is ROWS[1]
    assert FOUND.best_serving(1.0, within=0.001) is ROWS[2]
    alike = Sweep((row(0, 9, 4.0, e2e_p50_ms=20.0), row(2, 8, 4.0, e2e_p50_ms=10.0)))
    assert alike.best_serving(1.0).num_graphs == 2
    with pytest.raises(SettingError, match="No set was served"):
        Sweep((row(4, 0, error="none"),)).best_serving(1.0)
    assert serving_text(ROWS[1]) == (
        "9.95 requests/s within the limits, end to end in 1 s (median), and 900 KV tokens left"
    )


def test_todays_load_is_the_nearest_by_factor():
    """Of 0.5 and 4 it is 0.5, a factor of two away; 1 is the traffic itself."""
    assert todays_load((0.5, 4.0)) == 0.5
    assert todays_load((0.5, 1.0, 2.0)) == 1.0
    assert todays_load((0.25, 2.0)) == 2.0
