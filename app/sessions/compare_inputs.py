"""Which two sessions, and which versions of them, the Compare page sets side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.sessions import current as sessions
from app.sessions.list_view import session_labels
from app.sessions.view import when
from core.errors import ProjectError
from core.store.session_states import SessionInfo

NEWEST = 0
"""Choice of a version: whichever is the newest."""
SIDES = ("first", "second")


@dataclass(frozen=True)
class Picked:
    """A session and one of its versions; None: the newest."""

    session_id: str
    version: int | None


def read_link() -> None:
    """Take over what the address names, once a browser session."""
    values = state.session().values
    if values.get("compare_read"):
        return
    values["compare_read"] = True
    for side in SIDES:
        if side in st.query_params:
            values[f"compare_{side}"] = st.query_params[side]
        version = st.query_params.get(f"{side}_version", "")
        if version.isdecimal():
            values[f"compare_{side}_version"] = int(version)


def write_link(picked: Sequence[Picked]) -> None:
    """Show the choice in the address, so that it can be handed on."""
    for side, item in zip(SIDES, picked, strict=True):
        st.query_params[side] = item.session_id
        if item.version is not None:
            st.query_params[f"{side}_version"] = str(item.version)
        elif f"{side}_version" in st.query_params:
            del st.query_params[f"{side}_version"]


def pick_two(infos: Sequence[SessionInfo]) -> list[Picked]:
    """Widgets for both sides. Raises SessionError."""
    labels = session_labels(infos)
    places = st.columns(2)
    return [
        _pick(place, side, labels, default)
        for place, side, default in zip(places, SIDES, _defaults(infos), strict=True)
    ]


def _defaults(infos: Sequence[SessionInfo]) -> list[Picked]:
    """The open session beside the last saved other one; alone, beside the version before."""
    ids = [info.session_id for info in infos]
    open_id = state.session().open_id
    linked = state.value("compare_second", None)
    likely = [i for i in (open_id, *ids) if i in ids and i != linked] or ids
    first = likely[0]
    other = next((session_id for session_id in ids if session_id != first), None)
    if other is not None:
        return [Picked(first, None), Picked(other, None)]
    newest = infos[0].version
    return [Picked(first, newest - 1 if newest > 1 else None), Picked(first, None)]


def _pick(place, side: str, labels: Mapping[str, str], default: Picked) -> Picked:
    key = f"compare_{side}"
    wanted = state.value(key, default.session_id)
    if wanted not in labels:
        place.error("There is no such session, or it is not shared with you.")
        state.session().values[key] = wanted = default.session_id
        state.session().drawn.discard(key)
    place.selectbox(
        f"{side.capitalize()} session",
        list(labels),
        format_func=lambda i: labels.get(i, i),
        key=state.remember(key, wanted),
    )
    session_id = state.keep(key)
    first_time = session_id == default.session_id and default.version or NEWEST
    return Picked(session_id, _version(place, side, session_id, first_time))


def _version(place, side: str, session_id: str, default: int) -> int | None:
    key = f"compare_{side}_version"
    try:
        history = sessions.store().history(session_id, sessions.me())
    except ProjectError as error:
        place.error(as_text(str(error)))
        return None
    choices = [NEWEST, *(entry.version for entry in history)]
    if state.value(key, default) not in choices:
        state.session().values[key] = NEWEST
        state.session().drawn.discard(key)
    lines = {entry.version: f"{entry.version}, {when(entry.saved_at)}" for entry in history}
    place.selectbox(
        "Version",
        choices,
        format_func=lambda v: lines.get(v, "newest"),
        key=state.remember(key, default),
    )
    return state.keep(key) or None
