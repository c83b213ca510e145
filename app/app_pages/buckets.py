"""Buckets: which sizes to capture, and what each choice pads."""

import streamlit as st

from app import compute, inputs, state, traffic
from app.best_choice import best_choice
from app.charts.padding import SetView, frontier_figure, hits_figure, padding_figure
from app.charts.trade_off import trade_off_figure
from app.cost_inputs import chosen_cost
from app.export_view import export_view
from app.tables import comparison_rows
from app.trust_view import trust_section
from app.views import chart, table, traffic_caption
from core.advice import advice
from core.errors import ProjectError

SLOTS, TIME = "Padded slots", "Step time"
PADDING, HITS = "Padding by step size", "Steps a bucket serves"

st.title("Buckets", anchor=False)
st.caption(
    "An engine captures one CUDA graph per bucket and pads each step up to the next bucket. "
    "Steps above the largest run eager, without a graph."
)
found = traffic.current_traffic()
assert found is not None
traffic_caption(found)
workload = state.session().workload
sets = inputs.set_inputs(found.histogram, workload.reading.captured if workload else None)
if not sets:
    st.info("Choose at least one bucket set to see what it pads.")
    st.stop()

try:
    view = chosen_cost()
except ProjectError as error:
    st.error(str(error))
    st.stop()
views = []
for item in sets:
    try:
        report = inputs.padding_of(item, found.histogram)
    except ProjectError as error:
        st.warning(f"{item.name}: {error}")
    else:
        views.append(SetView(item, report, state.colour_of(item.name)))
if not views:
    st.stop()
sets = [v.bucket_set for v in views]
step_us = [compute.mean_step_us(found.histogram, s.sizes, view.cost) for s in sets]
taken = [compute.graph_bytes(s.sizes, view.memory) for s in sets]
table(comparison_rows(views, step_us, taken), "comparison")
st.caption(
    "waste = padded slots / slots replayed; overhead = padded / useful; coverage = steps that run "
    f"a graph. Mean step time and graph memory are {view.cost.origin.value}; the sidebar says from "
    "what. A padded slot is not lost time: on a memory-bound step it costs almost nothing, so read "
    "the step time beside it."
)

st.segmented_control("Show", [PADDING, HITS], key=state.remember("bucket_view", PADDING))
chosen = state.keep("bucket_view") or PADDING
if chosen == PADDING:
    chart(padding_figure(views, found.histogram), "padding")
else:
    chart(hits_figure(views, found.histogram.unit.value), "hits")
st.subheader("Are more graphs worth it?", anchor=False)
key = state.remember("frontier_view", SLOTS)
st.segmented_control("Judge by", [SLOTS, TIME], key=key, required=True)
judged_by = state.keep("frontier_view")
try:
    best = best_choice()
    trade = compute.weighed(found.histogram, sets, best, view.cost, view.memory)
    if judged_by == SLOTS:
        frontier = compute.best_frontier(found.histogram, best, view.cost)
        chart(frontier_figure(frontier, views), "frontier")
    else:
        colours = {v.bucket_set.name: v.colour for v in views}
        chart(trade_off_figure(trade, colours), "frontier")
    for sentence in advice(trade):
        st.markdown(f"- {sentence}")
    st.caption(f"Step times, memory and start-up in this advice are {trade.origin}.")
    trust_section(found.histogram, best, view)
except ProjectError as error:
    st.warning(str(error))

export_view([v.bucket_set for v in views])
