"""The sentence that names the best served set."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import SettingError
from core.records import Origin, StepCost, Trace
from core.serving.verdict import ServedSet, verdict
from core.simulate import Machine, PrefillCost, SimulationResult, simulate

PREFILL = PrefillCost(0.0, 0.0, 0.0, 0, Origin.ASSUMED, "by hand")
TRACE = Trace(np.array([1, 1]), np.array([11, 11]), np.array([0.0, 0.0]))


def served(name: str, step_ms: float, num_graphs: int) -> ServedSet:
    """Two requests of 11 tokens together: each takes 11 steps of `step_ms`."""
    us = np.array([1e3 * step_ms] * 2)
    cost = StepCost(np.array([1, 2]), us, us, np.zeros(2), Origin.ASSUMED, "by hand")
    return ServedSet(name, num_graphs, simulate(TRACE, Machine(64), cost, (1, 2), prefill=PREFILL))


def test_most_requests_in_time_win():
    """Eleven steps of 5 ms and of 10 ms: the same two requests take 55 ms and 110 ms."""
    found = verdict([served("slow", 10, 0), served("fast", 5, 3)])
    assert found.best.name == "fast" and found.figure == "goodput"
    # 2 requests in 55 ms are 36.4 a second, in 110 ms 18.2: 100 % more
    assert found.sentence == (
        "fast (3 graphs) serves most: 36.4 requests/s within the limits, 100 % more than slow."
    )


def arriving(name: str, step_ms: float, num_graphs: int) -> ServedSet:
    """The same, and one request more at 10 s, which rules the makespan."""
    us = np.array([1e3 * step_ms] * 2)
    cost = StepCost(np.array([1, 2]), us, us, np.zeros(2), Origin.ASSUMED, "by hand")
    trace = Trace(np.ones(3, np.int64), np.full(3, 11), np.array([0.0, 0.0, 10.0]))
    return ServedSet(name, num_graphs, simulate(trace, Machine(64), cost, (1, 2), prefill=PREFILL))


def test_equal_goodput_is_decided_by_the_time_end_to_end():
    """3 requests in 10.055 s and in 10.11 s are within 1 %; 55 ms are half of 110 ms."""
    found = verdict([arriving("slow", 10, 0), arriving("fast", 5, 3)])
    assert found.figure == "end to end" and found.best.name == "fast"
    assert found.sentence == (
        "All serve about 0.298 requests/s within the limits; fast (3 graphs) answers soonest: "
        "end to end in 55 ms (median), 50 % less than slow."
    )


def test_sets_that_serve_about_the_same_are_said_to():
    """5 and 5.02 ms a step serve 36.36 and 36.22 requests/s, 0.4 % apart: no one serves most."""
    found = verdict([served("many", 5.0, 8), served("few", 5.02, 1), served("slow", 10, 0)])
    assert found.best.name == "few" and found.sentence == (
        "many (8 graphs) and few (1 graph) serve about the same: 36.2 requests/s within the "
        "limits, 99.2 % more than slow; of these few (1 graph) has the fewest graphs of those that "
        "answer soonest."
    )


def test_of_equals_the_fewest_graphs_win():
    """5 ms and 5.02 ms a step are within 1 %: the set of one graph is enough."""
    found = verdict([arriving("many", 5.0, 8), arriving("few", 5.02, 1), arriving("slow", 9, 2)])
    assert found.best.name == "few"
    assert "few (1 graph) has the fewest graphs of those that answer soonest" in found.sentence
    assert "within 1 % of many (8 graphs)" in found.sentence
    assert "44.2 % less than slow (2 graphs)" in found.sentence  # 1 - 5.02 / 9


def test_limits_decide_who_counts():
    """TPOT at most 7 ms: the set of 9 ms a step serves nobody in time."""
    found = verdict([served("slow", 9, 0), served("fast", 5, 3)], tpot_limit_s=0.007)
    assert found.sentence.endswith("36.4 requests/s within the limits, against 0 with slow.")


def test_nobody_in_time_is_said():
    """With a limit of 1 ms no set serves a request in time."""
    found = verdict([served("slow", 9, 0), served("fast", 5, 3)], tpot_limit_s=0.001)
    assert found.sentence.startswith("None serves a request within the limits; fast (3 graphs)")


def with_kv(name: str, kv_tokens: int, num_graphs: int) -> ServedSet:
    """The two requests of 12 tokens each, where they fit at all."""
    us = np.array([5e3] * 2)
    cost = StepCost(np.array([1, 2]), us, us, np.zeros(2), Origin.ASSUMED, "by hand")
    result = simulate(TRACE, Machine(kv_tokens, block_size_tokens=4), cost, (1, 2), prefill=PREFILL)
    return ServedSet(name, num_graphs, result)


def test_a_set_that_serves_nothing_is_not_the_best():
    """A KV cache of 8 tokens holds no request: where none is finished no set is said to be soon,
    and where one set finishes them it is the best, also when nobody is in time."""
    nothing = [with_kv("many", 8, 8), with_kv("few", 8, 1)]
    assert all(list(item.result.rejected) == [0, 1] for item in nothing)
    tail = (
        "any request: 2 of 2 can never fit into the KV cache; give the engine more KV cache, or "
        "serve shorter requests."
    )
    assert verdict(nothing).sentence == f"No set finishes {tail}"
    assert verdict(nothing[:1]).sentence == f"many (8 graphs) does not finish {tail}"
    some = [*nothing, with_kv("eager", 64, 0)]
    found = verdict(some)
    assert found.best.name == "eager" and "against 0 with many (8 graphs)" in found.sentence
    found = verdict(some, tpot_limit_s=0.001)
    assert found.best.name == "eager" and found.sentence == (
        "None serves a request within the limits; eager answers soonest: end to end in 55 ms "
        "(median), while many (8 graphs) finishes no request and while few (1 graph) finishes no "
        "request."
    )


def test_one_set_is_no_comparison():
    """A single set is told as it is; none is an error."""
    assert "serve another set to compare" in verdict([served("only", 5, 2)]).sentence
    with pytest.raises(SettingError, match="No set was served"):
        verdict([])


def test_results_are_not_changed():
    """A verdict reads results and leaves them alone."""
    item = served("only", 5, 2)
    before = item.result.finish_s.copy()
    verdict([item, served("other", 6, 1)])
    assert isinstance(item.result, SimulationResult)
    assert np.array_equal(item.result.finish_s, before)
