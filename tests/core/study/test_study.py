"""The study by hand and by property: no recommendation is worse than what runs today."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import HistogramError, SettingError
from core.records import SizeUnit, StepHistogram, Trace
from core.simulate import simulate
from core.study.advice import advise
from core.study.build import EngineLimits, study_of
from core.study.choose import choose
from core.study.figures import loss_of
from core.study.graphs import EngineChoice, graphs_of
from core.study.prices import assumed_prices
from core.study.scenario import halves, scaled_sizes, scenarios_of
from core.study.verdict import Kind, verdict
from tests.core.study.helpers import cost, poisson, small_study

STEP = 1000.0 + 20.0 * np.arange(1, 65)


def test_a_scenario_is_simulated_with_the_lists_own_graphs():
    """The study's figures are those of `simulate` with that list, whatever runs today."""
    trace = poisson(120, 30.0)
    study = small_study(trace, cost(STEP), today=(64,))
    for sizes in ((64,), (1, 2, 4, 8, 16, 32, 64)):
        mine = study.figures(sizes).at("x1")
        result = simulate(trace, study.machine, study.cost, sizes, prefill=study.prefill)
        assert mine.tpot_p50_ms == result.latency().tpot_ms.p50
        assert mine.ttft_p99_ms == result.latency().ttft_ms.p99
        assert mine.steps == result.steps


def test_a_list_that_pads_everything_loses_to_one_that_does_not():
    """Steps that take 100 times as long on the one bucket of today: any list with small sizes is
    better in every scenario, and is recommended."""
    replay = np.where(np.arange(1, 65) < 64, 1000.0, 100_000.0)
    found = advise(small_study(poisson(80, 2.0), cost(replay), today=(64,)))
    assert found.verdict.kind is Kind.USE
    assert found.verdict.chosen is not None and found.verdict.chosen.gain > 0.5
    assert found.verdict.chosen.worst_loss <= 0


def test_a_flat_cost_keeps_todays_list():
    """Where padding costs nothing no list gains anything: keep."""
    found = advise(small_study(poisson(80, 20.0), cost(np.full(64, 1000.0)), today=(8, 64)))
    assert found.verdict.kind is Kind.KEEP and found.verdict.best_gain == pytest.approx(0, abs=1e-9)


def test_a_gain_below_the_error_is_not_claimed():
    """The list that gains is recommended where the step times are exact, and not where they may be
    off by more than it gains."""
    trace, prices, today = poisson(120, 30.0), cost(STEP), (16, 64)
    sure = advise(small_study(trace, prices, today, error=0.0)).verdict
    assert sure.kind is Kind.USE and sure.chosen is not None
    unsure = advise(small_study(trace, prices, today, error=sure.chosen.gain + 0.2)).verdict
    assert unsure.kind is Kind.KEEP and unsure.best_gain > 0


def test_eager_steps_that_nobody_saw_are_not_compared_with():
    """Steps above today's list run eager; a model without eager steps says that it cannot tell, and
    what would: it recommends no larger size for a reason that it does not know."""
    trace = poisson(200, 60.0)
    unknown = advise(small_study(trace, cost(STEP), today=(1, 2, 4)))
    assert unknown.verdict.kind is not Kind.ADD and unknown.verdict.uncovered > 0
    assert any("with graphs and without" in text for text in unknown.settle)
    known = advise(small_study(trace, cost(STEP, eager=STEP + 9000), today=(1, 2, 4)))
    assert known.verdict.kind is Kind.ADD and known.verdict.sizes[-1] > 4


def test_halves_are_of_the_time_and_start_at_0():
    """Requests at 0, 1, 2, 9, 10 s: three in the first half, two in the second, 0 and 1 s in it."""
    arrival = np.array([0.0, 1.0, 2.0, 9.0, 10.0])
    trace = Trace(np.arange(1, 6), np.arange(1, 6), arrival)
    first, second = halves(trace)
    assert first.prompt_tokens.tolist() == [1, 2, 3]
    assert second.prompt_tokens.tolist() == [4, 5] and second.arrival_s.tolist() == [0.0, 1.0]


def test_sizes_of_a_histogram_scale_with_the_load():
    """Sizes 2 and 3 at load 1.5 are 3 and 4 (4.5 to even), at most the engine's 3."""
    steps = StepHistogram.from_mapping({2: 10, 3: 5})
    assert scaled_sizes(steps, 1.5, 10).sizes.tolist() == [3, 4]
    assert scaled_sizes(steps, 1.5, 3).steps.tolist() == [15]


def test_a_histogram_gets_scaled_scenarios_and_says_so():
    """No arrivals: its loads are guesses, and the ground says they are assumed."""
    steps = StepHistogram.from_mapping({n: 100 for n in range(1, 33)})
    study = study_of(steps, EngineChoice("vllm"), assumed_prices(), EngineLimits(64, 8192, 100_000))
    found = advise(study)
    assert any(g.what == "other loads" and g.origin == "assumed" for g in found.rests_on)
    assert found.study.today.at("x1").tpot_p50_ms is None
    assert found.study.today.at("x2").mean_running > found.study.today.at("x0.5").mean_running


def test_prompt_lengths_are_no_decode_sizes():
    """A histogram of lengths is refused with the way out: a rate, or a concurrency."""
    lengths = StepHistogram.from_mapping({212: 3, 14_050: 1}, unit=SizeUnit.LENGTH)
    with pytest.raises(HistogramError, match="--rate"):
        study_of(lengths, EngineChoice("trtllm"), assumed_prices())


def test_a_trace_without_arrivals_asks_for_a_rate():
    trace = Trace(np.array([5, 6]), np.array([5, 6]), name="lengths")
    with pytest.raises(SettingError, match="--rate"):
        scenarios_of(trace)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "lmdeploy", "tgi"])
def test_what_runs_today_is_the_engines_own_list(engine):
    """Without a list of the user's, today's graphs are those of the engine's rule."""
    study = study_of(
        poisson(60, 5.0), EngineChoice(engine), assumed_prices(), EngineLimits(64, 8192)
    )
    graphs = graphs_of(study.engine, None, 64)
    assert study.today.sizes == graphs.sizes == study.default_sizes
    assert advise(study).verdict.today.sizes == graphs.sizes


RATES = st.floats(2.0, 120.0)


@settings(max_examples=25, deadline=None)
@given(
    RATES,
    st.integers(0, 10**6),
    st.sampled_from([(64,), (8, 16, 32, 64), (1, 2, 4, 8, 16, 32, 64), (3, 17)]),
    st.floats(0.0, 60.0),
    st.booleans(),
)
def test_no_recommendation_is_worse_than_today_in_any_scenario(rate, seed, today, slope, eager):
    """Random traffics, costs and lists: what is recommended loses no more than the tolerance in any
    scenario that can be served, nor on the halves; and it was simulated, not inferred."""
    trace = poisson(60, rate, seed)
    replay = 800.0 + slope * np.arange(1, 65)
    prices = cost(replay, replay + 3000.0 if eager else None)
    study = small_study(trace, prices, today)
    choice = choose(study)
    found = verdict(study, choice)
    assert found.sizes == (found.chosen.figures.sizes if found.chosen else study.today.sizes)
    again = small_study(trace, prices, today)
    mine, theirs = again.figures(found.sizes), again.today
    for a, b in zip(mine.scenarios, theirs.scenarios, strict=True):
        if not b.saturated or b.load <= 1.0:
            assert loss_of(a, b) <= choice.tolerance + 1e-12


@settings(max_examples=15, deadline=None)
@given(RATES, st.integers(0, 10**6))
def test_the_frontier_falls(rate, seed):
    """Each list of the frontier has more sizes than the one before, and loses less at worst."""
    choice = choose(small_study(poisson(50, rate, seed), cost(STEP), today=(64,)))
    sizes = [item.figures.num_sizes for item in choice.frontier]
    losses = [item.worst_loss for item in choice.frontier]
    assert sizes == sorted(set(sizes)) and losses == sorted(set(losses), reverse=True)


def test_a_closed_loop_takes_load_as_requests_in_flight():
    """Arrivals do not matter to it: at 1.5 times the load 12 requests run instead of 8."""
    study = small_study(poisson(80, 5.0), cost(STEP), today=(64,))
    closed = dataclasses.replace(study, concurrency=8, _known={})
    running = {s.scenario: max(s.decode.sizes) for s in closed.today.scenarios}
    assert running["x1"] == 8 and running["x1.5"] == 12 and running["x0.5"] == 4


def test_other_traffic_of_one_name_stays_apart():
    """Two files called alike are two scenarios."""
    other = dataclasses.replace(poisson(50, 5.0, seed=1), name="night")
    names = [s.name for s in scenarios_of(poisson(50, 5.0), (1.0,), (other, other))]
    assert names[-2:] == ["night", "night (2)"]


def test_graphs_of_every_batch():
    """0 to 8 requests: each on its own bucket, in tokens where three drafts are verified."""
    plain = graphs_of(EngineChoice("vllm", None, {"max_num_seqs": 8}), None, 8)
    assert plain.slots.tolist() == list(range(9))
    assert plain.bucket.tolist() == [-1, 1, 2, 4, 4, 8, 8, 8, 8]
    drafts = {"max_num_seqs": 8, "num_speculative_tokens": 3}
    assert graphs_of(EngineChoice("vllm", None, drafts), None, 8).slots.tolist() == [
        4 * n for n in range(9)
    ]
