"""A profile to look at: measured points, the curves fitted to them, and graph memory."""

from __future__ import annotations

import json
from collections.abc import Mapping

import streamlit as st

from app import compute, state
from app.charts.measured import (
    context_figure,
    graph_memory_figure,
    step_time_figure,
    with_fit,
)
from app.drawing.markdown_text import as_text
from app.drawing.views import chart, table
from app.measuring.failure_view import show_failures
from app.measuring.known_profiles import family, profile_choice
from app.measuring.tables import measured_rows
from core.cost.row_bound import crossover
from core.errors import ProjectError
from core.records import Profile, SizeUnit, to_json_dict

RESIDUALS = (
    "Residuals: how far the measured medians lie from their dotted curve, as a root mean square. "
    "A curve never falls: more rows never take less time."
)
MEMORY = (
    "A graph keeps what its step computes on the way. Captured largest first into one pool, the "
    "first graph fills it and the others use it again; a dash is what a graph would take alone."
)
ONE, CONTEXTS = "This profile, with its fit", "Every context"


def show_profile(profiles: Mapping[str, Profile]) -> None:
    """One of the profiles with replay times, and its document to keep."""
    names = list(profiles)
    if state.value("profile_shown", names[0]) not in names:
        state.set_values({"profile_shown": names[0]})
    st.selectbox("Profile", names, key=state.remember("profile_shown", names[0]))
    name = state.keep("profile_shown")
    profile = profiles[name]
    _show_times(name, profile)
    turn = crossover(profile.rows)
    if turn is not None:
        st.markdown(turn.sentence(profile.spec.unit))
    chart(graph_memory_figure(profile.rows[::-1], profile.device.name), "profile_memory")
    st.caption(MEMORY)
    with st.expander("Every row"):
        table(measured_rows(profile.rows, profile.spec.samples), "profile_rows")
        show_failures(profile.rows)
    _show_origin(profile)


def _show_times(name: str, profile: Profile) -> None:
    relatives = family(profile)
    view = ONE
    if len(relatives.contexts) > 1:
        key = state.remember("profile_view", ONE)
        st.segmented_control("Show", [ONE, CONTEXTS], key=key, required=True)
        view = state.keep("profile_view")
    if view == CONTEXTS:
        chart(context_figure(relatives.decode), "profile_times")
        return
    turn = crossover(profile.rows)
    at = turn.at if turn else None
    figure = step_time_figure(profile.rows, profile.device.name, profile.spec.unit, at)
    if profile.spec.unit is SizeUnit.REQUESTS:
        try:
            cost = compute.cost_view(profile_choice(name, profile)).cost
        except ProjectError as error:
            st.warning(str(error))
        else:
            with_fit(figure, cost)
            st.caption(as_text(f"Fitted: {cost.source}. {RESIDUALS}"))
    chart(figure, "profile_times")


def _show_origin(profile: Profile) -> None:
    device = profile.device
    details = [
        f"{device.name}, driver {device.driver}, CUDA {device.cuda}, torch {device.torch}",
        f"the card's own copy bandwidth {device.copy_gbps:,.0f} GB/s" if device.copy_gbps else "",
        f"measured {profile.measured_at}",
    ]
    st.caption(as_text("Measured: " + "; ".join(text for text in details if text) + "."))
    st.download_button(
        "Save this profile (JSON)",
        json.dumps(to_json_dict(profile), indent=1),
        file_name=f"{profile.spec.model.name}.json",
        mime="application/json",
    )
