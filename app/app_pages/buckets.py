"""Buckets: which sizes to capture, and what each choice pads."""

import streamlit as st

from app import compute, state
from app.charts.padding import (
    SetView,
    cumulative_figure,
    hits_figure,
    lost_time_figure,
    padding_figure,
)
from app.deciding.edit_view import show_editable
from app.deciding.export_view import export_view
from app.deciding.verdict_view import verdict_section
from app.deciding.worth_view import worth_section
from app.drawing.markdown_text import as_text
from app.drawing.tables import comparison_rows
from app.drawing.views import table, traffic_caption
from app.inputs import sets as inputs
from app.inputs.cost import steps_cost
from app.inputs.memory import pool_policy
from app.report.button import report_button
from app.web.page_end import end_page
from app.workload import traffic
from app.workload.other_view import other_section
from core.errors import ProjectError

PADDING, HITS = "Padding by step size", "Steps a bucket serves"
COVERED, LOST = "Steps covered", "Time lost"

st.title("Buckets", anchor=False)
st.caption(
    "An engine captures one CUDA graph per bucket and pads each step up to the next bucket. "
    "Steps above the largest run eager, without a graph."
)
found = traffic.current_traffic()
assert found is not None
traffic_caption(found)
workload = state.session().workload
assert workload is not None
verdict_place = st.container()  # filled last: it takes longest, and what is below need not wait
st.subheader("Bucket sets side by side", anchor=False)
sets = inputs.set_inputs(found.histogram, workload.reading.captured)
if not sets:
    with verdict_place:
        verdict_section(workload)
    st.info("Choose at least one bucket set to see what it pads.")
    end_page()

try:
    view = steps_cost(found.histogram)
except ProjectError as error:
    st.error(str(error))
    end_page()
views, runs = [], []
for item in sets:
    try:
        replayed = compute.replayed(found.histogram, item.sizes, inputs.engine_of(item))
    except ProjectError as error:
        st.warning(as_text(f"{item.name}: {error}"))
    else:
        runs.append(replayed)
        views.append(SetView(item, replayed.report, state.colour_of(item.name)))
if not views:
    end_page()
sets = [v.bucket_set for v in views]
step_us = [compute.step_us(run, view.cost) for run in runs]
taken = [compute.graph_bytes(s.sizes, view.memory, pool_policy()) for s in sets]
steps = found.histogram
times, memory = view.cost.origin.value, view.memory.origin.value
origin = f"steps {steps.origin.value}; step times {times}, graph memory {memory}"
table(comparison_rows(views, step_us, taken), "comparison", origin)
st.caption(
    "waste = padded slots / slots replayed; overhead = padded / useful; coverage = steps that run "
    f"a graph. Mean step time: {times}; the sidebar says from what. Graph memory: {memory}; the "
    "Memory page says from what. A padded slot is not lost time: on a memory-bound step it costs "
    "almost nothing, so read the step time beside it."
)


def lost_time():
    lost = [compute.lost_us(run, view.cost) for run in runs]
    return lost_time_figure(views, steps, lost, view.cost.origin.value)


VIEWS = {
    PADDING: lambda: padding_figure(views, steps),
    HITS: lambda: hits_figure(views, steps.unit.value),
    COVERED: lambda: cumulative_figure(views, steps),
    LOST: lost_time,
}
key = state.remember("bucket_view", PADDING)
st.segmented_control("Show", list(VIEWS), key=key, required=True)
try:
    show_editable(VIEWS[state.keep("bucket_view")](), steps, view, origin)
    other_section(steps, sets, origin)
    worth_section(steps, views, view)
except ProjectError as error:
    st.warning(str(error))
export_view(sets, steps.unit)
report_button(found, sets)
with verdict_place:
    verdict_section(workload)
