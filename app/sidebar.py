"""What every page is about: the traffic and the step cost in use."""

from __future__ import annotations

import streamlit as st

from app import state, theme
from app.drawing.markdown_text import as_text
from app.drawing.views import picture_setting
from app.inputs.cost import cost_inputs, tokens_cost
from app.sessions.gate import show_conflict
from app.web.login import show_account
from app.workload.grade_words import grade_words
from app.workload.traffic import unit_by_tokens
from core.errors import ProjectError
from core.records import SizeUnit

COUNTED = {SizeUnit.TOKENS: "tokens a step", SizeUnit.LENGTH: "prompts by length"}


def show_sidebar() -> None:
    with st.sidebar:
        st.subheader("Bucketwise", anchor=False)
        st.caption("Choose CUDA-graph buckets from your own traffic.")
        show_conflict()
        if state.session().open_id is not None:
            st.markdown(f"**Session**: {as_text(state.session().open_name)}")
        workload = state.session().workload
        if workload is None:
            st.markdown("**Traffic**: none yet")
        else:
            st.markdown(f"**Traffic**: {as_text(workload.name)}")
            st.caption(f"Grade {workload.reading.grade.value}. {grade_words(workload.reading)}")
        try:
            cost_inputs()
            if workload is not None:
                _say_price(workload)
        except ProjectError as error:
            st.error(as_text(str(error)))
        picture_setting()
        show_account()


def _say_price(workload: state.Workload) -> None:
    """Where steps are not priced by the cost above: by what instead. Raises InputError."""
    unit = unit_by_tokens(workload)
    if unit is None:
        return
    cost = tokens_cost(unit).cost
    st.caption(
        f"**This traffic counts {COUNTED[unit]}, so its steps are priced by tokens, not by decode "
        f"rows.** {as_text(theme.origin_text(cost.origin, cost.source))}"
    )
