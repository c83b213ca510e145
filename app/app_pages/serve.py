"""Serve: what a bucket set does to the latency of real requests."""

import streamlit as st

from app import state
from app.inputs import sets as inputs
from app.inputs.cost import chosen_cost
from app.serving import runs as serving
from app.serving.advanced import advanced_inputs, coming_inputs
from app.serving.inputs import arrival_inputs, serving_inputs, serving_limits
from app.serving.sweep_view import kept_sweep, sweep_section
from app.serving.view import latency_limit_inputs, show_runs
from app.web.page_end import end_page
from app.workload import traffic
from core.errors import ProjectError
from core.text.counting import counted

st.title("Serve", anchor=False)
st.caption(
    "The same requests are served once with each bucket set by a simulated engine. A set's graphs "
    "take memory from the KV cache, so more graphs can mean more waiting; the run counts that in."
)
workload = state.session().workload
if workload is None or workload.reading.trace is None:
    kept_sweep()
    traffic.current_traffic()
    st.info(
        "Serving needs requests, with their prompt and output lengths. This workload has step "
        "sizes or sums only; upload a request trace."
    )
    end_page()
assert workload is not None and workload.reading.trace is not None
serving_inputs()
arrival_inputs(workload.reading)
coming_inputs()
advanced_inputs(workload.reading.trace)
limits, wanted = serving_limits(), latency_limit_inputs()
trace = traffic.workload_requests(workload)
if trace is None:
    st.info(
        "The file has lengths without arrivals: type a request rate above, or choose a closed loop."
    )
    end_page()
try:
    serving.machine_of(limits)
    view = chosen_cost()
    histogram = traffic.decode_histogram(trace)
    sets = inputs.chosen_sets(histogram, workload.reading.captured)
    plans = serving.plans(sets, limits, view)
    serving.say_what_is_amiss(trace, limits, plans)
except ProjectError as error:
    st.error(str(error))
    end_page()

key = serving.run_key(trace, limits, view)
if st.button("Serve the requests with each set", type="primary", key="serve"):
    serving.run(key, trace, limits, plans, view)
runs = serving.results(key, plans)
if len(runs) < len(plans):
    st.info(
        f"{counted(len(trace), 'requests')}, {counted(len(plans), 'ways')} to serve them, "
        f"{len(runs)} of them done with these settings. Press the button to run "
        f"{'the others' if runs else 'them'}."
    )
if runs:
    show_runs(runs, wanted)
    st.caption(
        "All figures estimated by simulation: "
        f"{view.cost.origin.value} step times, {trace.name or workload.name}. "
        "KV tokens: the KV cache above, less what the set's graphs take "
        f"({view.memory.origin.value}) at {serving.kv_bytes_per_token() / 1024:.0f} KiB a token."
    )
    with st.expander("What the simulation assumes"):
        for note in runs[0].result.notes:
            st.markdown(f"- {note}")
sweep_section(trace, histogram, limits, view)
