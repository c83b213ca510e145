"""Diagnose: why a capture failed, from the log or traceback it left."""

import streamlit as st

from app import state
from app.web.page_end import end_page
from core.diagnose import diagnose
from core.errors import ProjectError
from core.failures.switches import spelt_for
from core.text.counting import counted

EXAMPLE = (
    "Traceback (most recent call last):\n"
    '  File "model.py", line 12, in forward\n    if mask.sum().item() > 0:\n'
    "RuntimeError: CUDA error: operation not permitted when stream is capturing\n"
    "During handling of the above exception, another exception occurred:\n"
    "RuntimeError: CUDA error: operation failed due to a previous error during capture"
)

st.title("Diagnose", anchor=False)
st.caption(
    "Paste the log or traceback of a failed CUDA-graph capture. The first root cause comes first: "
    "the error at the end (901, 'capture invalidated') is usually only a consequence. Nothing "
    "pasted here is kept."
)
st.text_area(
    "Log or traceback", key=state.remember("config_failure", ""), height=260, placeholder=EXAMPLE
)
text = state.keep("config_failure")
if not text.strip():
    st.info(
        "Nothing pasted yet: paste a log above and press Ctrl+Enter, or look at an example. The "
        "same on the command line: `python -m core diagnose FILE`."
    )
    st.button(
        "Show an example",
        key="diagnose_example",
        on_click=state.set_values,
        args=({"config_failure": EXAMPLE},),
    )
    end_page()
try:
    found = diagnose(text)
except ProjectError as error:
    st.error(str(error))
    end_page()
if not found.causes:
    st.success(f"No capture failure that we know is in {counted(found.lines, 'lines')}.")
    st.page_link("app_pages/not_faster.py", label="Graphs are on, but nothing got faster?")
    end_page()
for cause in found.causes:
    st.subheader(cause.klass.replace("_", " "), anchor=False)
    often = f", {cause.times:,} times" if cause.times > 1 else ""
    st.caption(f"{cause.rank.value.capitalize()}, line {cause.line:,}{often}")
    st.code(cause.evidence, language=None, wrap_lines=True)
    if cause.site is not None:
        st.caption(f"Called from {cause.site}")
    if cause.layer is not None:
        st.caption(f"Layer: {cause.layer.value}, shown by {cause.shown_by}")
    st.markdown("**Why**")
    st.text(cause.cause)
    st.markdown("**What to do**")
    st.text(cause.remedy)
    if cause.switches:
        st.markdown("**To find it, switch off one at a time, in this order**")
        st.caption(f"Flags{spelt_for(found.served)}; each with what it costs.")
        st.table(
            {
                "Layer": [str(switch.layer) for switch in cause.switches],
                "Flag": [switch.flag for switch in cause.switches],
                "Costs": [switch.costs for switch in cause.switches],
            }
        )
