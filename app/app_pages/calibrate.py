"""Calibrate: step times fitted to what your engine really did, predicted beside real."""

import streamlit as st

from app import compute
from app.calibrating.view import engine_inputs, file_inputs, show_calibration
from app.drawing.markdown_text import as_text
from app.web.page_end import end_page
from core.errors import ProjectError

st.title("Calibrate", anchor=False)
st.caption(
    "Fit the step-time model to your own engine's run or log: half of the steps are fitted, the "
    "other half shows how well it holds. The model can then stand for your engine on every page."
)
if not file_inputs():
    st.info(
        "Nothing uploaded yet. Give a recorded run, a log with a line a step, or a table of step "
        "times by batch size; or open the example, a run of vLLM on an H200. On the command line: "
        "`python -m core calibrate FILE`."
    )
    end_page()
try:
    found = compute.calibration(engine_inputs())
except ProjectError as error:
    st.error(as_text(str(error)))
    end_page()
show_calibration(found)
