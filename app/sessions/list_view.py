"""All sessions of a person, and the way in for a session file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from app.drawing.views import table
from app.sessions import current as sessions
from app.sessions.view import when
from core.store.session_states import SessionInfo


def session_labels(infos: Sequence[SessionInfo]) -> dict[str, str]:
    """{session's id: a text to choose it by}; all differ, for Streamlit tells choices by text."""
    plain = {info.session_id: f"{info.name}, saved {when(info.saved_at)}" for info in infos}
    often = Counter(plain.values())
    return {key: text if often[text] == 1 else f"{text} ({key[:6]})" for key, text in plain.items()}


def show_list(names: dict[str, str]) -> None:
    """Every session of this person, the last saved first, and one to open."""
    infos = sessions.store().list_for(sessions.me())
    if not infos:
        st.info("No session is kept yet.")
        return
    st.subheader("All sessions", anchor=False)
    rows: list[dict[str, object]] = [
        {
            "name": info.name,
            "saved": when(info.saved_at),
            "by": names.get(info.saved_by, info.saved_by),
            "your role": info.role.value,
            "owner": names.get(info.owner, info.owner),
        }
        for info in infos
    ]
    table(rows, "sessions")
    labels = session_labels(infos)
    chosen = st.selectbox(
        "Session", list(labels), format_func=labels.__getitem__, key="chosen_session"
    )
    if st.button("Open it", key="open_session"):
        sessions.open_session(chosen)
        st.rerun()


def import_form() -> None:
    """A session file from another installation."""
    with st.expander("Open a session file (.bucketwise.json)"):
        file = st.file_uploader("Session file", key="session_file", type=["json"])
        if file is not None and st.button("Take it in", key="import_session"):
            sessions.import_file(file.getvalue(), file.name)
            st.rerun()
