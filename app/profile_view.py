"""A profile to look at: measured points, the curves fitted to them, and graph memory."""

from __future__ import annotations

import json
from collections.abc import Mapping

import streamlit as st

from app import compute, state
from app.charts.measured import graph_memory_figure, step_time_figure, with_fit
from app.cost_choice import CostChoice
from app.tables import measured_rows
from app.views import chart, table
from core.errors import ProjectError
from core.records import Profile, to_json_dict


def show_profile(profiles: Mapping[str, Profile]) -> None:
    """One of the profiles with replay times, and its document to keep."""
    names = list(profiles)
    if state.value("profile_shown", names[0]) not in names:
        state.set_values({"profile_shown": names[0]})
    st.selectbox("Profile", names, key=state.remember("profile_shown", names[0]))
    name = state.keep("profile_shown")
    profile = profiles[name]
    device = profile.device
    figure = step_time_figure(profile.rows, device.name)
    try:
        view = compute.cost_view(CostChoice(name, profile=profile))
    except ProjectError as error:
        st.warning(str(error))
    else:
        with_fit(figure, view.cost)
        st.caption(f"Fitted: {view.cost.source}.")
    chart(figure, "profile_times")
    chart(graph_memory_figure(profile.rows[::-1], device.name), "profile_memory")
    with st.expander("Every row"):
        table(measured_rows(profile.rows), "profile_rows")
    details = [
        f"{device.name}, driver {device.driver}, CUDA {device.cuda}, torch {device.torch}",
        f"the card's own copy bandwidth {device.copy_gbps:,.0f} GB/s" if device.copy_gbps else "",
        f"measured {profile.measured_at}",
    ]
    st.caption("Measured: " + "; ".join(text for text in details if text) + ".")
    st.download_button(
        "Save this profile (JSON)",
        json.dumps(to_json_dict(profile), indent=1),
        file_name=f"{profile.spec.model.name}.json",
        mime="application/json",
    )
