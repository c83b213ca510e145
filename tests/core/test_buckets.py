"""The exact frontier: right values, brute force, and what must hold of every optimum."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.buckets import frontier, optimal_buckets, set_cost
from core.buckets.build import Limits, build
from core.buckets.compiled import queue_layers, tree_layers
from core.buckets.layers import monotone_layers, quadratic_layers
from core.buckets.solve import compiled, solve
from core.errors import CaptureSizesError, CostUnitError, HistogramError, SettingError
from core.padding import padding_report
from core.records import Origin, SizeUnit, StepCost, StepHistogram
from tests.core.brute import dispatched, least, subsets, table
from tests.core.cases import case, histogram_counts
from tests.core.strategies import capture_sizes, histograms, rising_costs


def histogram_of(data: dict[str, int]) -> StepHistogram:
    return StepHistogram.from_mapping(histogram_counts(data))


def test_best_four_sizes():
    """The best four of eight sizes, their padding, and that the second best pads more."""
    given_, expect = case("D-OPT-01")
    histogram = histogram_of(given_["histogram"])
    point = frontier(histogram, max_graphs=given_["k"]).at(given_["k"])
    assert list(point.sizes) == expect["sizes"]
    assert point.cost == expect["pad_rows"]
    others = [
        padding_report(histogram, (*chosen, 32)).padded_total
        for chosen in itertools.combinations(histogram.sizes[:-1].tolist(), 3)
        if (*chosen, 32) != point.sizes
    ]
    assert min(others) == expect["second_best_pad_rows"]
    assert optimal_buckets(histogram, max_graphs=4).sizes == point.sizes


def test_frontier_over_the_number_of_graphs():
    """Padding falls with every graph and is 0 with one for each size."""
    given_, expect = case("D-OPT-02")
    found = frontier(histogram_of(given_["histogram"]), max_graphs=64)
    assert {str(point.k): point.cost for point in found.points} == expect["pad_rows"]
    first = next(point.k for point in found.points if point.waste < 0.05)
    assert first == expect["first_k_under_5pct"]


def test_two_sets_compared():
    """Neither of two sets is beaten in both graphs and padding."""
    given_, expect = case("D-OPT-04")
    histogram = histogram_of(given_["histogram"])
    for name in "AB":
        report = padding_report(histogram, given_[name])
        assert report.padded_total == expect[name]["pad_rows"]
        assert 100 * report.waste == pytest.approx(expect[name]["waste_pct"], abs=0.01)
        assert len(report.capture_sizes) == expect[f"{name}_graphs"]
    # what the best set of 7 saves against A says that the front lies lower still
    assert frontier(histogram).at(7).cost < set_cost(histogram, given_["A"])


def test_a_set_tuned_on_one_trace_pads_another():
    """No padding in-sample says nothing of the next trace."""
    given_, expect = case("D-OPT-05")
    for part in ("train", "test"):
        report = padding_report(histogram_of(given_[part]), given_["sizes"])
        assert 100 * report.waste == pytest.approx(expect[part]["waste_pct"], abs=0.01)
        assert 100 * report.coverage == pytest.approx(expect[part]["coverage_pct"], abs=0.01)
    assert frontier(histogram_of(given_["train"])).points[-1].sizes == tuple(given_["sizes"])


def test_ladders_of_prefill_and_decode():
    """Powers of two reach 8192 with 8 graphs and waste almost half just above a size."""
    given_, expect = case("D-OPT-06")
    powers = [64 * 2**i for i in range(8)]
    assert powers[-1] == given_["max_tokens"]
    assert len(powers) == expect["prefill_graphs"]
    decode = range(given_["decode_step"], given_["decode_max"] + 1, given_["decode_step"])
    assert len(decode) == expect["decode_graphs"]
    worst = expect["worst_prefill"]
    report = padding_report(StepHistogram.from_batches([worst["tokens"]]), powers)
    assert 100 * report.waste == pytest.approx(worst["waste_pct"], abs=0.01)
    assert report.total_slots == worst["bucket"]


def random_histogram(rng: random.Random, largest: int = 20) -> StepHistogram:
    counts = {rng.randint(1, largest): rng.randint(1, 50) for _ in range(rng.randint(1, 8))}
    return StepHistogram.from_mapping(counts)


def random_cost(rng: random.Random, *, rising: bool = True, largest: int = 32) -> StepCost:
    sizes = np.arange(1, largest + 1)
    steps = np.array([rng.random() * rng.choice([0, 1, 5]) for _ in sizes])
    replay = 1.0 + (np.cumsum(steps) if rising else 10 * np.array([rng.random() for _ in sizes]))
    eager = np.array([1.0 + 20 * rng.random() for _ in sizes])
    return StepCost(sizes, replay, eager, np.ones(largest), Origin.ASSUMED, "drawn")


def agree(found: float, expected: float) -> bool:
    return found == expected or abs(found - expected) <= 1e-9 * max(1.0, abs(expected))


def test_padded_slots_equal_brute_force():
    """1,000 random small histograms: every point of the frontier is the least over all subsets."""
    rng = random.Random(11)
    for _ in range(1000):
        histogram = random_histogram(rng)
        found = frontier(histogram, max_graphs=4)
        for k in range(1, 5):
            best = least(
                subsets(histogram.sizes.tolist(), k),
                lambda chosen, h=histogram: dispatched(h, chosen, None, None),
            )
            assert found.at(k).cost == best


@pytest.mark.parametrize("allow_eager", [False, True])
def test_rising_costs_equal_brute_force(allow_eager):
    """1,000 random costs that never fall with size, with sizes above the top eager or covered."""
    rng = random.Random(12)
    for _ in range(1000):
        histogram, cost = random_histogram(rng), random_cost(rng)
        graph, eager = table(cost)
        found = frontier(histogram, max_graphs=3, cost=cost, allow_eager=allow_eager)
        for k in range(1, 4):
            best = least(
                subsets(histogram.sizes.tolist(), k),
                lambda chosen, h=histogram, g=graph, e=eager: dispatched(
                    h, chosen, g, e if allow_eager else None
                ),
            )
            assert agree(found.at(k).cost, best)


def test_multiples_and_included_sizes_equal_brute_force():
    """1,000 random cases with sizes that must be multiples, and some captured in any case."""
    rng = random.Random(13)
    for _ in range(1000):
        histogram, multiple = random_histogram(rng), rng.choice([1, 2, 3, 4])
        include = tuple(rng.sample(range(1, 26), rng.choice([0, 1, 2])))
        pool = {-(-size // multiple) * multiple for size in histogram.sizes.tolist()} | set(include)
        found = frontier(histogram, max_graphs=4, multiple_of=multiple, include=include)
        for k in range(max(1, len(include)), 5):
            best = least(
                subsets(pool, k),
                lambda chosen, h=histogram: dispatched(h, chosen, None, None),
                lambda chosen, must=set(include): must <= set(chosen),
            )
            if best < np.inf:
                assert found.at(k).cost == best


def test_an_allowed_list_equals_brute_force():
    """1,000 random lists of sizes that may be captured."""
    rng = random.Random(14)
    for _ in range(1000):
        histogram = random_histogram(rng)
        top = int(histogram.sizes[-1])
        allowed = {*rng.sample(range(1, 24), 6), rng.randint(top, 24)}
        found = frontier(histogram, max_graphs=3, candidates=sorted(allowed))
        for k in range(1, 4):
            best = least(
                subsets(allowed, k), lambda chosen, h=histogram: dispatched(h, chosen, None, None)
            )
            if best < np.inf:
                assert found.at(k).cost == best


@given(histograms(), rising_costs(), st.sets(st.integers(1, 45), max_size=3))
def test_three_ways_through_the_layers_agree(histogram, cost, include):
    """Every predecessor tried, split search and compiled hull give the same table."""
    problem = build(histogram, cost, Limits(include=tuple(sorted(include))))
    slow = quadratic_layers(problem, 6).costs
    np.testing.assert_allclose(monotone_layers(problem, 6).costs, slow, rtol=1e-12)
    np.testing.assert_allclose(queue_layers(problem, 6).costs, slow, rtol=1e-12)
    np.testing.assert_allclose(tree_layers(problem, 6).costs, slow, rtol=1e-12)


@pytest.mark.parametrize("rising", [True, False])
def test_large_instances_take_the_compiled_way_to_the_same_answer(rising):
    """1,500 sizes: solve() hands them to numba, and every layer equals plain numpy's."""
    rng = np.random.default_rng(3)
    sizes = np.arange(1, 1501)
    replay = 100 + rng.integers(0, 30, 1500).cumsum() if rising else rng.uniform(1, 9, 1500)
    cost = StepCost(
        sizes, replay.astype(float), 2.0 * replay, np.ones(1500), Origin.ASSUMED, "drawn"
    )
    problem = build(StepHistogram(sizes, rng.integers(1, 99, 1500)), cost)
    assert compiled("compiled", len(problem) * 32) is not None
    np.testing.assert_allclose(
        solve(problem, 32).costs, quadratic_layers(problem, 32).costs, rtol=1e-12
    )


def test_without_numba_numpy_answers(monkeypatch):
    """Where compiled code cannot be had the answer is the same, only later."""
    histogram = StepHistogram(np.arange(1, 601), np.arange(1, 601))
    before = frontier(histogram)
    monkeypatch.setattr("core.buckets.solve._loaded", lambda name: None)
    after = frontier(histogram)
    assert [p.cost for p in after.points] == [p.cost for p in before.points]


@given(histograms(), capture_sizes())
def test_no_list_of_as_many_graphs_pads_less(histogram, sizes):
    """The optimum is never worse than any list that covers the same, at equal number of graphs."""
    covering = (*sizes, int(histogram.sizes[-1]))
    point = frontier(histogram, max_graphs=len(set(covering))).at(len(set(covering)))
    assert point.cost <= padding_report(histogram, covering).padded_total


@given(histograms(), rising_costs())
def test_each_point_is_better_than_the_one_before(histogram, cost):
    """A graph that brings nothing is not on the frontier; costs fall by less and less."""
    points = frontier(histogram, cost=cost).points
    costs = [point.cost for point in points]
    assert all(a > b for a, b in itertools.pairwise(costs))
    assert [point.k for point in points] == [len(point.sizes) for point in points]
    assert points[-1].k <= len(histogram.sizes)
    # convex in k where every k is there: the cost is Monge
    if [p.k for p in points] == list(range(1, len(points) + 1)):
        gains = -np.diff(costs)
        assert all(a >= b - 1e-9 * costs[0] for a, b in itertools.pairwise(gains))


def test_zero_counts_do_not_make_candidates():
    """A size that never occurs is not captured."""
    histogram = StepHistogram(np.array([1, 5, 9]), np.array([3, 0, 2]))
    assert frontier(histogram).points[-1].sizes == (1, 9)


def test_counts_beyond_float_are_exact():
    """2**55 + 1 steps: float64 would round; Python integers do not."""
    many = 2**55 + 1
    histogram = StepHistogram(np.array([1, 2, 4]), np.array([many, 1, 1]))
    found = frontier(histogram)
    # one graph pads 3 for each of `many` and 2 for the step of 2
    assert found.at(1).cost == 3 * many + 2
    assert found.at(2).cost == 2 and found.at(2).sizes == (1, 4)


def test_ties_go_to_the_smaller_set():
    """Sizes 1, 2, 3 once each: {1,3} and {2,3} pad 1; the same one is chosen every time."""
    histogram = StepHistogram.from_batches([1, 2, 3])
    assert {frontier(histogram).at(2).sizes for _ in range(3)} == {(1, 3)}


def test_no_graph_may_be_the_answer():
    """Where eager is faster at every size, the first point has no graph, and a set is refused."""
    cost = StepCost(
        np.array([1, 8]), np.array([9.0, 9.0]), np.array([5.0, 6.0]), np.ones(2), Origin.ASSUMED, ""
    )
    histogram = StepHistogram.from_batches([2, 4])
    found = frontier(histogram, cost=cost, allow_eager=True)
    assert [point.sizes for point in found.points] == [()]
    with pytest.raises(CaptureSizesError, match="slower than running all steps eagerly"):
        optimal_buckets(histogram, max_graphs=4, cost=cost, allow_eager=True)


def test_questions_without_an_answer_are_refused():
    """Each refusal says what is wrong and the way out."""
    histogram = StepHistogram.from_batches([3, 300])
    with pytest.raises(CaptureSizesError, match="steps of 300; the largest allowed is 256"):
        frontier(histogram, candidates=[1, 256])
    with pytest.raises(HistogramError, match="no step"):
        frontier(StepHistogram.from_mapping({}))
    with pytest.raises(CostUnitError, match="give a step cost"):
        frontier(histogram, allow_eager=True)
    with pytest.raises(SettingError, match="3 sizes are included"):
        frontier(histogram, max_graphs=2, include=(1, 2, 4))
    with pytest.raises(SettingError, match="must be 1 or more"):
        frontier(histogram, max_graphs=0)
    with pytest.raises(SettingError, match="multiples of 0"):
        frontier(histogram, multiple_of=0)
    lengths = StepHistogram.from_batches([3], unit=SizeUnit.LENGTH)
    with pytest.raises(CostUnitError, match="sequence tokens"):
        frontier(lengths, cost=random_cost(random.Random(1)))
