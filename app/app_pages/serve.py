"""Serve: what a bucket set does to the latency of real requests."""

import streamlit as st

from app import compute, inputs, serving, state, traffic
from app.charts.serving import latency_figure, series_figure
from app.cost_inputs import chosen_cost
from app.sweep_view import sweep_section
from app.tables import served_rows
from app.views import chart, table
from core.errors import ProjectError

st.title("Serve", anchor=False)
st.caption(
    "The same requests are served once with each bucket set by a simulated engine. A set's graphs "
    "take memory from the KV cache, so more graphs can mean more waiting: that loop is closed here."
)
found = traffic.current_traffic()
assert found is not None
workload = state.session().workload
assert workload is not None
trace = traffic.requests_of(workload)
if trace is None:
    st.info(
        "Serving needs requests with arrivals. This workload has step sizes or lengths only; "
        "upload a request trace, or type a request rate on the Workload page."
    )
    st.stop()
limits = inputs.serving_inputs()
sets = inputs.chosen_sets(found.histogram, workload.reading.captured)
try:
    view = chosen_cost()
    plans = serving.plans(sets, limits, view)
except ProjectError as error:
    st.error(str(error))
    st.stop()
if not plans:
    st.info("Choose bucket sets on the Buckets page first.")
    st.stop()

key = compute.content_digest((trace, limits, [p.key for p in plans], view.cost, view.prefill))
if st.button("Serve the requests with each set", type="primary", key="serve"):
    serving.run(key, trace, limits, plans, view)
runs = serving.results(key)
if runs is None:
    st.info(
        f"{len(trace):,} requests, {len(plans)} ways to serve them. Press the button; nothing has "
        "been run with these settings yet."
    )
    sweep_section(trace, found.histogram, limits, view)
    st.stop()

table(served_rows(runs), "served")
st.caption(
    "All figures estimated by simulation: "
    f"{view.cost.origin.value} step times, {trace.name or workload.name}. "
    "KV tokens: the KV cache above, less what the set's graphs take "
    f"({view.memory.origin.value}) at {serving.kv_bytes_per_token() / 1024:.0f} KiB a token."
)
chart(latency_figure(runs), "latency")
chart(series_figure(runs), "series")
with st.expander("What the simulation assumes"):
    for note in runs[0].result.notes:
        st.markdown(f"- {note}")
sweep_section(trace, found.histogram, limits, view)
