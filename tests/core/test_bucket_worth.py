"""What the next graph is worth: by hand, and against the solver that knows prices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.buckets import frontier
from core.buckets.priced import priced_buckets
from core.buckets.worth import next_graphs, worth_their_price
from core.errors import SettingError
from core.records import StepHistogram
from tests.core.strategies import histograms, rising_costs

# batches 1, 3, 5, 8, one step each. In 8: 7 + 5 + 3 = 15 slots of padding; 3, 8: 2 + 3 = 5;
# 3, 5, 8: 2; all: 0
BATCHES = StepHistogram.from_mapping({1: 1, 3: 1, 5: 1, 8: 1})


def test_what_the_next_graph_saves_by_hand():
    """The second saves 10 padded slots, the third 3, the fourth 2."""
    found = frontier(BATCHES, max_graphs=8)
    assert [(g.k, g.saved) for g in next_graphs(found)] == [(2, 10), (3, 3), (4, 2)]


@pytest.mark.parametrize(("price", "graphs"), [(0, 4), (1.9, 4), (2, 3), (3, 2), (9.9, 2), (10, 1)])
def test_graphs_worth_their_price_by_hand(price, graphs):
    """A graph is taken while it saves more than it costs."""
    assert worth_their_price(frontier(BATCHES, max_graphs=8), price).k == graphs


@given(histograms(), st.none() | rising_costs(), st.floats(0, 1e4))
def test_the_same_total_as_the_solver_with_prices(histogram, cost, price):
    """Choosing on the frontier gives the optimum that the priced recurrence finds."""
    found = frontier(histogram, max_graphs=64, cost=cost)
    point = worth_their_price(found, price)
    best = priced_buckets(histogram, price, cost=cost)
    if best.k <= 64:
        total = point.cost + price * point.k
        assert total == pytest.approx(best.total, rel=1e-9, abs=1e-6)


@given(histograms(), st.none() | rising_costs())
def test_savings_add_up(histogram, cost):
    """From the first point to the last the savings are the difference of their costs."""
    found = frontier(histogram, max_graphs=64, cost=cost)
    graphs = next_graphs(found)
    steps = [b.k - a.k for a, b in zip(found.points, found.points[1:], strict=False)]
    saved = sum(g.saved * n for g, n in zip(graphs, steps, strict=True))
    assert saved == pytest.approx(found.points[0].cost - found.points[-1].cost, abs=1e-6)
    assert all(g.saved > 0 for g in graphs)


@pytest.mark.parametrize("price", [-1, float("nan"), float("inf")])
def test_a_price_is_a_number(price):
    """Anything else is refused with the value."""
    with pytest.raises(SettingError, match="price of a graph"):
        worth_their_price(frontier(BATCHES), price)
