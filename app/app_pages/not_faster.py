"""Not faster: graphs are on, but nothing got faster; which of four groups of data says why."""

import streamlit as st

from app.measuring.not_faster_view import file_inputs, known_inputs, show_answer
from app.web.page_end import end_page
from core.errors import ProjectError
from core.not_faster import why_not_faster
from core.records import Origin

st.title("Graphs are on, but nothing got faster?", anchor=False)
st.caption(
    "Four groups of data are looked at: did the steps really replay; was the host in their way; do "
    "padding and the kernels take the time; what does the boundary of the graph cost. Step times "
    "are those of the step cost in the sidebar: choose a measured profile there, best of your own "
    "card. The same on the command line: `python -m core not-faster FILE`."
)
try:
    known = known_inputs(file_inputs())
    found = why_not_faster(known)
except ProjectError as error:
    st.error(str(error))
    end_page()
unit = known.steps.unit.value if known.steps is not None else "requests"
told = known.steps is not None or known.engine is not None
if not told or (known.steps is not None and known.steps.origin is Origin.ASSUMED):
    st.info(
        "No steps yet: load traffic, or the example, on the Workload page, or give an engine's log "
        "above."
    )
show_answer(found, unit, with_sentence=told)
