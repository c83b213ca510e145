"""Workload: what came in, what was left out, and the step sizes that follow from it."""

import streamlit as st

from app import state
from app.charts.lengths import steps_figure
from app.deciding.verdict_view import verdict_line
from app.drawing.markdown_text import as_text
from app.drawing.views import chart
from app.serving.inputs import arrival_inputs, serving_inputs
from app.web.page_end import end_page
from app.workload import traffic
from app.workload.reading_view import show_reading
from app.workload.upload import upload_inputs
from core.text.counting import counted

st.title("Workload", anchor=False)
st.caption(
    "Upload traffic as you have it: a request trace, a histogram of lengths or batch sizes, or an "
    "engine's log. Files stay on this machine; prompts and answers are never kept."
)
upload_inputs()
workload = state.session().workload
if workload is None:
    st.info(
        "Nothing uploaded yet. The example is a synthetic chat-like trace made by a seeded "
        "generator, enough to see every page at work."
    )
    end_page()

show_reading(workload)

st.header("Step sizes", anchor=False)
kinds = traffic.bucketed_kinds(workload)
if len(kinds) > 1:
    if state.value("bucketed", kinds[0]) not in kinds:
        state.set_values({"bucketed": kinds[0]})
    st.radio(
        "What do the graphs bucket?",
        kinds,
        key=state.remember("bucketed", kinds[0]),
        horizontal=True,
    )
    state.keep("bucketed")
if workload.reading.trace is not None and state.value("bucketed", kinds[0]) != traffic.PROMPT:
    arrival_inputs(workload.reading)
    serving_inputs()

found = traffic.current_traffic(stop=False)
if found is None:
    if traffic.workload_requests(workload) is not None:
        end_page()  # what stands in the way is said already
    if workload.reading.trace is not None:
        st.info("Type a request rate above to estimate step sizes: the file has lengths only.")
    else:
        st.info(
            "No step sizes follow from this file: it gives bounds, sums or shares, not single "
            "steps or requests. Upload a request trace, or an engine log with step sizes."
        )
    end_page()
chart(steps_figure(found.histogram), "steps")
st.caption(f"{counted(found.histogram.total_steps, 'steps')}, {as_text(found.note)}.")
if found.simulation is not None:
    for sentence in found.simulation.notes:
        st.caption(sentence)
verdict_line(workload)
