"""What the next graph is worth, and how many are worth their price."""

from __future__ import annotations

import streamlit as st

from app import compute, state, theme
from app.charts.next_graph import next_graph_figure
from app.deciding.best_choice import TIME, BestChoice, take_k
from app.drawing.quantity import Quantity
from app.drawing.views import chart
from core.buckets.worth import next_graphs, worth_their_price
from core.records import StepHistogram

US_PER_MS = 1000.0


def next_graph_section(
    histogram: StepHistogram, choice: BestChoice, view: compute.CostView
) -> None:
    """A price, the chart of savings against it, and the number of graphs that follows.

    Raises ProjectError.
    """
    by_time = choice.objective == TIME
    found = compute.best_frontier(histogram, choice, view.cost)
    price = _price_input(by_time, compute.capture_ms(view.cost, int(histogram.sizes[-1])))
    graphs = next_graphs(found)
    if not graphs:
        st.info("One set is best for this traffic, whatever a graph costs.")
        return
    origin = view.cost.origin.value if by_time else f"steps {histogram.origin.value}"
    factor, unit = (1 / US_PER_MS, "ms") if by_time else (1.0, "padded slots")
    chart(next_graph_figure(graphs, price, factor, unit, origin), "next_graph", origin)
    point = worth_their_price(found, price)
    by_k = {graph.k: graph for graph in graphs}
    last, following = by_k.get(point.k), next((g for g in graphs if g.k > point.k), None)
    words = [f"**{point.k} {'graph is' if point.k == 1 else 'graphs are'} worth that price**"]
    if last is not None:
        words.append(f"the last of them saves {_saved(last.saved, by_time)}")
    if following is not None:
        words.append(f"the next one would save {_saved(following.saved, by_time)}")
    st.markdown(f"{'; '.join(words)}. Best sizes: {theme.sizes_text(point.sizes, 40)}.")
    if st.button(f"Take K = {point.k}", key="take_k", disabled=point.k == choice.num_graphs):
        take_k(point.k)


def _price_input(by_time: bool, capture_ms: float) -> float:
    """What a graph must save over this traffic, in the frontier's unit."""
    key, label, default, words = (
        (
            *("price_ms", "A graph must save at least [ms]", capture_ms),
            "Over all steps of this traffic. The default is the capture of one graph: below it the "
            "graph does not pay back within this traffic.",
        )
        if by_time
        else (
            *("price_slots", "A graph must save at least [padded slots]", 0.0),
            "Over all steps of this traffic. To set it against time, let the best set minimise "
            "step time ('How the best set is chosen').",
        )
    )
    state.remember(key, float(default), within=(0.0, 1e12))
    st.number_input(label, 0.0, 1e12, key=key, help=words)
    return state.keep(key) * (US_PER_MS if by_time else 1.0)


def _saved(value: float, by_time: bool) -> Quantity | str:
    return theme.us_text(value) if by_time else f"{theme.count_text(value)} padded slots"
