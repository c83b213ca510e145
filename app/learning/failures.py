"""Lesson 5: captures that fail, with the doctor's verdict; and a log of one's own."""

from __future__ import annotations

import streamlit as st

from app.learning.parts import choice, derivation_view, plain, switch
from core.diagnose import Cause, diagnose
from core.errors import ProjectError
from core.failures.capture_errors import Rank
from core.lab.failing_steps import HAZARDS
from core.lab.failures import attempt

TITLE = "Capture failures and the doctor"
WAITS, OTHER = "it waits for the card", "something else breaks it"


def show() -> None:
    st.markdown(
        "While a stream captures nothing runs, so nothing can be waited for. Each step below works "
        "eagerly and cannot be captured. **Which one waits for the CPU?**"
    )
    name = choice("Step", [hazard.name for hazard in HAZARDS], "learn_hazard")
    found = attempt(name)
    st.code(found.broken_code, language="python")
    said = st.segmented_control("Why does it fail?", [WAITS, OTHER], key=f"learn_why_{name}")
    if said is not None:
        right = WAITS if found.hazard.waits else OTHER
        (st.success if said == right else st.warning)(
            f"{'Right' if said == right else 'Not quite'}: {right}."
        )
    if said is not None or switch("Show the answer", "learn_hazard_show", False):
        _verdict(found.first)
        st.markdown("**Mended**, and captured without an error:")
        st.code(found.mended_code, language="python")
        equal = found.eager == found.replay
        (st.success if equal else st.error)(
            f"Another input: eager gives {_values(found.eager)}, "
            f"the replay {_values(found.replay)}."
        )
        with st.expander("What Python printed"):
            st.code(found.log, language=None)
        derivation_view(found.derivation)
    _own_log()


def _values(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _verdict(cause: Cause) -> None:
    code = f", CUDA error {cause.code}" if cause.code else ""
    lines = [f"**{plain(cause.klass)}**{code}: {plain(cause.cause)}"]
    if cause.site is not None:
        lines.append(f"Where: {plain(str(cause.site))}")
    lines.append(f"What to do: {plain(cause.remedy)}")
    st.info("\n\n".join(lines))


def _own_log() -> None:
    st.subheader("Your own log", anchor=False)
    st.caption(
        "Paste a traceback or a start-up log. It stays on this machine and is not kept. The first "
        "cause is named, not the error that came last."
    )
    text = st.text_area("Log or traceback", key="learn_log", height=140)
    if not text.strip():
        return
    try:
        causes = diagnose(text).causes
    except ProjectError as error:
        st.error(str(error))
        return
    if not causes:
        st.success("No known error of capturing, and no exception, in this text.")
    for cause in causes[:5]:
        if cause.rank is Rank.CONSEQUENCE:
            st.caption(f"Line {cause.line}: {plain(cause.klass)}. {plain(cause.cause)}")
        else:
            _verdict(cause)
    if len(causes) > 5:
        st.caption(f"{len(causes) - 5} more; `python -m core diagnose FILE` lists all.")
