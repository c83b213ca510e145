"""Are more graphs worth it: the trade-off, clickable, and what is amiss with each set."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import compute, state
from app.charts.padding import SetView, frontier_figure
from app.charts.trade_off import AXES, trade_off_figure
from app.deciding.best_choice import best_choice
from app.deciding.next_graph_view import next_graph_section
from app.deciding.trust_view import trust_section
from app.drawing.markdown_text import as_text
from app.drawing.views import chart, clickable_chart
from app.inputs import sets as inputs
from core.choice.advice import set_facts
from core.choice.trade_off import TradeOff
from core.errors import ProjectError
from core.records import BucketSet, StepHistogram

SLOTS, TIME, NEXT = "Padded slots", "Step time", "The next graph"
ENGINES_SHOWN = ("vllm", "sglang", "trtllm")


def worth_section(
    histogram: StepHistogram, views: Sequence[SetView], view: compute.CostView
) -> None:
    """The chart judged by slots or by time, what is amiss with a set, and whether to trust it."""
    st.subheader("Are more graphs worth it?", anchor=False)
    left, right = st.columns(2)
    left.segmented_control(
        "Judge by", [SLOTS, TIME, NEXT], key=state.remember("frontier_view", SLOTS), required=True
    )
    judged_by = state.keep("frontier_view")
    best = best_choice()
    sets = [v.bucket_set for v in views]
    if judged_by == SLOTS:
        found = compute.best_frontier(histogram, best, view.cost)
        chart(frontier_figure(found, views), "frontier", f"steps {histogram.origin.value}")
    elif judged_by == NEXT:
        next_graph_section(histogram, best, view)
    else:
        key = state.remember("trade_axis", next(iter(AXES)))
        right.segmented_control("Against", list(AXES), key=key, required=True)
        marked = [*sets, *_defaults(histogram, sets)]
        trade = compute.weighed(
            *(histogram, marked, best, view.cost, view.memory), inputs.engines_of(marked)
        )
        _clickable(trade, {v.bucket_set.name: v.colour for v in views}, state.keep("trade_axis"))
    trade = compute.weighed(
        *(histogram, sets, best, view.cost, view.memory), inputs.engines_of(sets)
    )
    for sentence in set_facts(trade):
        st.markdown(f"- {as_text(sentence)}")
    trust_section(histogram, best)


def _defaults(histogram: StepHistogram, sets: Sequence[BucketSet]) -> list[BucketSet]:
    """The engines' defaults that are not among the compared sets already."""
    shown = {item.name for item in sets}
    found = []
    for name in ENGINES_SHOWN:
        try:
            item = inputs.default_set(name, histogram)
        except ProjectError:
            continue  # an engine that captures nothing for such steps has no point to draw
        if item.name not in shown:
            found.append(item)
    return found


def _clickable(trade: TradeOff, colours: dict[str, str], against: str) -> None:
    figure = trade_off_figure(trade, colours, against)
    points = clickable_chart(figure, "trade_off", f"{trade.origin} step times")
    inputs.take_clicked(points[0]["customdata"][3] if points else None)
