"""Every variant of the choice equals brute force on at least 1,000 random cases."""

from __future__ import annotations

import math
import random
from functools import partial

import numpy as np
import pytest

from core.buckets import Dispatch, Limits, frontier, set_cost
from core.buckets.budget import budgeted_buckets
from core.buckets.build import build
from core.buckets.compiled import tree_layers
from core.buckets.layers import quadratic_layers
from core.buckets.merge import merged
from core.buckets.priced import priced_buckets
from core.errors import SettingError
from core.records import GraphMemory, Origin, PoolPolicy, StepCost, StepHistogram
from tests.core.brute import dispatched, least, subsets, table

CASES = 1000
LARGEST = 14


def random_histogram(rng: random.Random, most: int = 6) -> StepHistogram:
    """A few sizes; some occur 0 times."""
    counts = {rng.randint(1, LARGEST): rng.randint(1, 40) for _ in range(rng.randint(1, most))}
    sizes = np.array(sorted(counts))
    steps = np.array([counts[size] for size in sizes.tolist()])
    if len(sizes) > 1 and rng.random() < 0.2:
        steps[rng.randrange(len(sizes) - 1)] = 0
    return StepHistogram(sizes, steps)


def random_cost(rng: random.Random, *, rising: bool = False) -> StepCost:
    """A point at every size: rising, or any table; eager anything, now and then in order."""
    sizes = np.arange(1, LARGEST + 3)
    replay = np.array([1 + 10 * rng.random() for _ in sizes])
    if rng.random() < 0.3:
        replay = np.round(replay)  # ties
    if rising:
        replay = np.sort(replay)
    eager = np.array([1 + 12 * rng.random() for _ in sizes])
    if rng.random() < 0.5:
        eager = np.sort(eager)
    return StepCost(sizes, replay, eager, np.ones(len(sizes)), Origin.ASSUMED, "drawn")


def close(found: float, expected: float) -> bool:
    return found == expected or abs(found - expected) <= 1e-9 * max(1.0, abs(expected))


def pool_of(histogram: StepHistogram, cost: StepCost | None = None) -> set[int]:
    """What the choice may draw from by default: observed sizes, and points of a cost with dips."""
    pool = set(histogram.sizes.tolist())
    dips = cost is not None and (np.diff(cost.replay_us) < 0).any()
    return pool | (set(cost.sizes.tolist()) if cost is not None and dips else set())


@pytest.mark.parametrize("allow_eager", [False, True])
@pytest.mark.parametrize("dispatch", list(Dispatch))
def test_any_table(allow_eager, dispatch):
    """Tables with dips and ties, any eager costs; covered or eager above; padded or the cheaper."""
    rng = random.Random(f"{allow_eager}{dispatch}")
    for _ in range(CASES):
        histogram, cost = random_histogram(rng), random_cost(rng)
        allowed = sorted({*rng.sample(range(1, LARGEST + 3), 5), int(histogram.sizes[-1])})
        graph, eager = table(cost)
        found = frontier(
            histogram,
            max_graphs=3,
            cost=cost,
            candidates=allowed,
            allow_eager=allow_eager,
            dispatch=dispatch,
        )
        for k in (1, 2, 3):
            best = least(
                subsets(allowed, k),
                lambda chosen, h=histogram, g=graph, e=eager: dispatched(
                    h, chosen, g, e, best_of=dispatch is Dispatch.CHEAPER
                ),
                lambda chosen, h=histogram: (
                    allow_eager or (bool(chosen) and chosen[-1] >= h.sizes[-1])
                ),
            )
            assert close(found.at(k).cost, best)


def test_any_table_draws_on_its_own_sizes():
    """Where a larger size is cheaper than an observed one, it is chosen without being asked for."""
    rng = random.Random(5)
    for _ in range(CASES):
        histogram, cost = random_histogram(rng, most=4), random_cost(rng)
        graph, _ = table(cost)
        pool = pool_of(histogram, cost)
        best = least(
            subsets(pool, 2), lambda chosen, h=histogram, g=graph: dispatched(h, chosen, g, None)
        )
        assert close(frontier(histogram, max_graphs=2, cost=cost).at(2).cost, best)


@pytest.mark.parametrize("dispatch", list(Dispatch))
def test_the_tree_equals_every_predecessor(dispatch):
    """1,000 tables with forced sizes and prices: the compiled tree gives the same layers."""
    rng = random.Random(6)
    for _ in range(CASES):
        histogram, cost = random_histogram(rng), random_cost(rng)
        eager = np.sort(cost.eager_us)
        cost = StepCost(cost.sizes, cost.replay_us, eager, cost.capture_ms, cost.origin, "")
        include = tuple(rng.sample(range(1, LARGEST), rng.choice([0, 0, 1, 2])))
        limits = Limits(include=include, allow_eager=True, dispatch=dispatch)
        problem = build(histogram, cost, limits, lambda sizes: 3.0 * (sizes % 4))
        slow = quadratic_layers(problem, 4).costs
        np.testing.assert_allclose(tree_layers(problem, 4).costs, slow, rtol=1e-12)


@pytest.mark.parametrize("rising", [False, True])
def test_a_price_a_bucket(rising):
    """One price for all, or one for each size; covered or eager; the best number falls out."""
    rng = random.Random(7)
    for _ in range(CASES):
        histogram, cost = random_histogram(rng), random_cost(rng, rising=rising)
        graph, eager = table(cost)
        each = {size: 40 * rng.random() for size in range(1, LARGEST + 3)}
        if rng.random() < 0.3:
            each = dict.fromkeys(each, 20.0)
        include = tuple(rng.sample(range(1, LARGEST), rng.choice([0, 0, 1])))
        limits = Limits(include=include, allow_eager=rng.random() < 0.5)
        pool = pool_of(histogram, cost) | set(include)
        if len(pool) > 7:  # every subset is tried
            limits = Limits(
                tuple({*rng.sample(sorted(pool), 5), int(histogram.sizes[-1])}),
                include=include,
                allow_eager=limits.allow_eager,
            )
            pool = {*(limits.candidates or ()), *include}

        def value(chosen, h=histogram, g=graph, e=eager, p=each, lim=limits):
            steps = dispatched(h, chosen, g, e if lim.allow_eager else None)
            return steps + sum(p[size] for size in chosen)

        best = least(
            subsets(pool, len(pool)), value, lambda chosen, must=set(include): must <= set(chosen)
        )
        prices = np.array([0.0, *each.values()])
        found = priced_buckets(
            histogram, lambda sizes, p=prices: p[sizes], cost=cost, limits=limits
        )
        assert close(found.total, best)
        through_layers = frontier(
            histogram,
            cost=cost,
            candidates=limits.candidates,
            include=include,
            allow_eager=limits.allow_eager,
            price=lambda sizes, p=prices: p[sizes],
        )
        assert close(through_layers.points[-1].total, best)


def test_a_price_in_slots_is_exact_for_huge_counts():
    """Whole padded slots and whole prices beyond float64 stay whole."""
    many = 2**60
    histogram = StepHistogram(np.array([1, 2, 3]), np.array([many, 1, 1]))
    point = priced_buckets(histogram, 2.0)
    # {1, 3} pads 1 for 4; {3} alone pads 2**61 + 1 for 2; {1, 2, 3} pads 0 for 6
    assert (point.sizes, point.cost, point.price) == ((1, 3), 1, 4)


@pytest.mark.parametrize("policy", list(PoolPolicy))
@pytest.mark.parametrize("rising", [False, True])
def test_a_hard_memory_limit(policy, rising):
    """Private pools add up, a shared one counts once; whole bytes; covered or eager."""
    rng = random.Random(f"{policy}{rising}")
    for _ in range(CASES):
        histogram, cost = random_histogram(rng), random_cost(rng, rising=rising)
        graph, eager = table(cost)
        sizes = np.arange(1, LARGEST + 3)
        # strictly rising pools: a pool filled smallest first then reuses nothing
        pools = np.cumsum([rng.randint(1, 6) for _ in sizes])
        same = rng.random() < 0.3
        graphs = np.array([4 if same else rng.randint(1, 9) for _ in sizes])
        fixed = rng.choice([0, 3])
        memory = GraphMemory(
            sizes, pools.astype(float), graphs.astype(float), Origin.ASSUMED, "drawn", fixed
        )
        budget, most = rng.randint(5, 120), rng.choice([None, 1, 2, 3])
        limits = Limits(
            tuple({*rng.sample(range(1, LARGEST + 3), 5), int(histogram.sizes[-1])}),
            allow_eager=rng.random() < 0.5,
        )

        def taken(chosen, p=pools, g=graphs, f=fixed):
            if not chosen:
                return 0
            each = [int(p[size - 1]) for size in chosen]
            shared = policy is PoolPolicy.SHARED_LARGEST_FIRST
            return (
                f + sum(int(g[size - 1]) for size in chosen) + (max(each) if shared else sum(each))
            )

        ask = partial(
            budgeted_buckets,
            *(histogram, memory, policy, budget),
            max_graphs=most,
            cost=cost,
            limits=limits,
        )
        best = least(
            subsets(limits.candidates or (), 6),
            lambda chosen, h=histogram, g=graph, e=eager, lim=limits: dispatched(
                h, chosen, g, e if lim.allow_eager else None
            ),
            lambda chosen, b=budget, k=most: taken(chosen) <= b and len(chosen) <= (k or 99),
        )
        if best == math.inf:
            with pytest.raises(SettingError, match="No set fits"):
                ask()
            continue
        found = ask()
        assert close(found.point.cost, best)
        assert found.used_bytes == taken(found.point.sizes) <= budget
        assert found.proved_best


def test_a_memory_limit_with_fractions_brackets_the_best():
    """Bytes that share no unit are rounded up: feasible, and the bound below holds."""
    rng = random.Random(9)
    for _ in range(200):
        histogram = random_histogram(rng)
        sizes = np.arange(1, LARGEST + 3)
        memory = GraphMemory(
            sizes,
            np.cumsum([rng.random() for _ in sizes]),
            np.array([rng.random() for _ in sizes]),
            Origin.ASSUMED,
            "drawn",
        )
        budget = 1 + 6 * rng.random()

        def fits(chosen, m=memory, b=budget):
            return sum(m.graph_bytes[s - 1] + m.pool_bytes[s - 1] for s in chosen) <= b

        best = least(
            subsets(histogram.sizes.tolist(), 6),
            lambda chosen, h=histogram: dispatched(h, chosen, None, None),
            fits,
        )
        if best == math.inf:
            continue
        try:
            found = budgeted_buckets(histogram, memory, PoolPolicy.PRIVATE, budget)
        except SettingError:
            continue  # fits by a hair only: rounding up leaves no room for it
        assert found.lower_bound <= best + 1e-9
        assert found.point.cost >= best
        assert found.used_bytes <= budget


def test_compiled_budget_equals_every_predecessor():
    """The queue a level and the plain table agree, with forced sizes and prices."""
    from core.buckets.budget_table import Weights, every_table
    from core.buckets.compiled_budget import queue_table

    rng = random.Random(10)
    for _ in range(CASES):
        histogram, cost = random_histogram(rng), random_cost(rng, rising=True)
        include = tuple(rng.sample(range(1, LARGEST), rng.choice([0, 1, 2])))
        limits = Limits(include=include, allow_eager=True)
        problem = build(histogram, cost, limits, lambda sizes: 2.0 * (sizes % 3), keep_all=True)
        own = np.array([0, *(rng.randint(0, 4) for _ in range(len(problem) - 1))])
        weights = Weights(own, np.full(len(problem), 12))
        slow, fast = every_table(problem, weights)[0], queue_table(problem, weights)[0]
        np.testing.assert_allclose(fast, slow, rtol=1e-12)


def test_several_histograms_at_once():
    """The best list for weighted hours is the best of all subsets by the weighted sum."""
    rng = random.Random(12)
    for _ in range(CASES):
        parts = [random_histogram(rng) for _ in range(rng.randint(1, 3))]
        weights = [rng.randint(1, 5) for _ in parts]
        union = merged(parts, weights)
        found = frontier(union, max_graphs=2)
        pool = sorted({size for part in parts for size in part.sizes[part.steps > 0].tolist()})

        def value(chosen, parts=parts, weights=weights):
            return sum(
                weight * dispatched(part, chosen, None, None)
                for part, weight in zip(parts, weights, strict=True)
            )

        assert close(found.at(2).cost, least(subsets(pool, 2), value))


def test_merging_by_hand():
    """A peak counted twice and a quiet hour once; units must agree."""
    peak = StepHistogram.from_mapping({8: 10, 9: 1}, duration_s=60.0)
    quiet = StepHistogram.from_mapping({1: 3, 8: 1}, duration_s=30.0)
    union = merged([peak, quiet], [2, 1])
    pairs = zip(union.sizes.tolist(), union.steps.tolist(), strict=True)
    assert dict(pairs) == {1: 3, 8: 21, 9: 2}
    assert union.duration_s == 150.0
    # equal say for each hour, however many steps it has
    fair = merged([peak, quiet], equal_say=True)
    shares = dict(zip(fair.sizes.tolist(), (fair.steps / fair.total_steps).tolist(), strict=True))
    assert shares[1] == pytest.approx(0.5 * 3 / 4, rel=1e-6)
    with pytest.raises(SettingError, match="weights"):
        merged([peak, quiet], [1])


def test_a_guard_bucket_is_captured_though_never_seen():
    """include holds the engine's largest batch; it costs a graph and no padding."""
    histogram = StepHistogram.from_mapping({1: 10, 5: 4})
    point = frontier(histogram, max_graphs=3, include=(256,)).at(3)
    assert point.sizes == (1, 5, 256)
    assert point.cost == 0
    assert set_cost(histogram, point.sizes) == 0
