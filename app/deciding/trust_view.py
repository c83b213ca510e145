"""Whether the best set keeps what it promises: on later traffic, and on unseen measurements."""

from __future__ import annotations

import streamlit as st

from app import compute, state, theme
from app.deciding.best_choice import BestChoice
from app.inputs.cost import chosen_cost, measured_profile
from app.workload import traffic
from core.errors import ProjectError
from core.records import StepHistogram


def trust_section(histogram: StepHistogram, choice: BestChoice) -> None:
    """Two checks behind a button, since each runs for a moment."""
    with st.expander("Can this choice be trusted?"):
        st.caption(
            "A list tuned on yesterday's traffic meets tomorrow's; a list tuned on a measurement "
            "may have been tuned on its noise. Both are tested here on data that the choice has "
            "not seen."
        )
        if not st.button("Check the choice", key="check_choice"):
            return
        try:
            _later_traffic(choice)
            _unseen_measurements(histogram, choice)
        except ProjectError as error:
            st.warning(str(error))


def _later_traffic(choice: BestChoice) -> None:
    """By decode steps, whatever the traffic counts: they are what a half of a trace is run for."""
    workload = state.session().workload
    trace = traffic.workload_requests(workload) if workload is not None else None
    if trace is None or len(trace) < 20:
        st.markdown("- Later traffic: needs a request trace, which can be cut in two halves.")
        return
    halves = [traffic.simulated_decode(half) for half in compute.halves(trace)]
    found = compute.held_out(halves[0], halves[1], choice.num_graphs, chosen_cost().cost)
    st.markdown(
        f"- Later traffic: {choice.num_graphs} graphs chosen on the first half of the trace pad "
        f"{theme.share_text(found.waste)} of the slots of the second half, whose own best list "
        f"pads {theme.share_text(found.waste_best)}; "
        f"{theme.share_text(found.coverage)} of its steps run a graph (estimated)."
    )
    if found.coverage < 1:
        st.markdown(
            "- The second half has larger steps than the first: include max_num_seqs as a guard."
        )


def _unseen_measurements(histogram: StepHistogram, choice: BestChoice) -> None:
    profile = measured_profile(histogram)
    if profile is None:
        st.markdown(
            "- Unseen measurements: the price of these steps is no measured profile, so there is "
            "no noise to be fooled by; choose a profile in the sidebar to test it."
        )
        return
    st.markdown(f"- Unseen measurements: {compute.rescored(histogram, profile, choice)}.")
