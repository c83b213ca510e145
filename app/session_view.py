"""The pieces of the Sessions page."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from app import sessions, state
from app.sessions import WHO, Role
from app.views import table
from core.errors import ProjectError


def _when(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M} UTC"


def start_form() -> None:
    """Keep the present work under a name."""
    with st.form("new_session", border=False):
        name = st.text_input("Name of the new session", "Tuning")
        if st.form_submit_button("Keep this work as a session", type="primary"):
            sessions.create(name)
            st.rerun()


def show_open() -> None:
    """The open session: name, notes, link, history, comments, file."""
    session = state.session()
    assert session.open_id is not None
    head = sessions.store().head(session.open_id, WHO)
    st.subheader(session.open_name, anchor=False)
    st.caption(
        f"Version {head.version}, saved {_when(head.saved_at)} by {head.saved_by}; you are "
        f"{session.open_role}. Open it again with `?session={session.open_id}` behind the address."
    )
    if session.open_role != Role.VIEWER.value:
        _rename()
    left, middle, right, last = st.columns(4)
    if left.button("Undo the last save", width="stretch"):
        sessions.store().undo(session.open_id, WHO)
        sessions.open_session(session.open_id)
        st.rerun()
    if middle.button("Fork: a copy of your own", width="stretch"):
        sessions.open_session(sessions.store().fork(session.open_id, WHO))
        st.rerun()
    file_name, data = sessions.store().export_file(session.open_id, WHO)
    right.download_button("Save as a file", data, file_name, "application/json", width="stretch")
    if last.button("Close, keep working unsaved", width="stretch"):
        sessions.close()
        st.rerun()
    _history(session.open_id)
    _comments(session.open_id)


def _rename() -> None:
    session = state.session()
    with st.form("rename", border=False):
        name = st.text_input("Name", session.open_name)
        notes = st.text_area("Notes", session.open_notes, height=80)
        if st.form_submit_button("Save name and notes"):
            sessions.save(name, notes)
            st.rerun()


def _history(session_id: str) -> None:
    with st.expander("History"):
        versions = sessions.store().history(session_id, WHO)
        table(
            [
                {
                    "version": v.version,
                    "when": _when(v.saved_at),
                    "who": v.saved_by,
                    "action": v.action,
                    "changes": "; ".join(v.changes),
                }
                for v in versions
            ],
            "history",
        )
        numbers = [v.version for v in versions]
        back_to = st.selectbox("Go back to version", numbers, key="back_to")
        if st.button("Restore it (adds a version, nothing is lost)"):
            sessions.store().restore(session_id, back_to, WHO)
            sessions.open_session(session_id)
            st.rerun()


def _comments(session_id: str) -> None:
    with st.expander("Comments"):
        for comment in sessions.store().comments(session_id, WHO):
            st.markdown(f"**{comment.author}**, {_when(comment.written_at)}")
            st.text(comment.body)
        with st.form("comment", border=False, clear_on_submit=True):
            body = st.text_area("Comment", height=80)
            if st.form_submit_button("Add the comment") and body.strip():
                sessions.store().comment(session_id, WHO, body)
                st.rerun()


def show_list() -> None:
    """Every session of this user."""
    infos = sessions.store().list_for(WHO)
    if not infos:
        st.info("No session is kept yet.")
        return
    st.subheader("All sessions", anchor=False)
    table(
        [
            {"name": i.name, "saved": _when(i.saved_at), "by": i.saved_by, "role": i.role.value}
            for i in infos
        ],
        "sessions",
    )
    by_id = {i.session_id: i for i in infos}
    chosen = st.selectbox(
        "Session",
        list(by_id),
        format_func=lambda i: f"{by_id[i].name}, saved {_when(by_id[i].saved_at)}",
        key="chosen_session",
    )
    if st.button("Open it", key="open_session"):
        sessions.open_session(chosen)
        st.rerun()


def import_form() -> None:
    """A session file from another installation."""
    with st.expander("Open a session file (.bucketwise.json)"):
        file = st.file_uploader("Session file", key="session_file", type=["json"])
        if file is not None and st.button("Take it in", key="import_session"):
            sessions.open_session(sessions.store().import_file(file.getvalue(), WHO, file.name))
            st.rerun()


def settle_form() -> None:
    """Somebody else saved first: what changed, and three ways on; nothing is lost."""
    st.warning(str(state.session().conflict))
    for choice, label in (
        ("both", "Join both"),
        ("theirs", "Take theirs"),
        ("mine", "Save mine over it"),
    ):
        if st.button(label, key=f"settle_{choice}"):
            try:
                sessions.settle(choice)
            except ProjectError as error:
                st.error(str(error))
            st.rerun()


def open_session(session_id: str) -> None:
    """Open a session, or say in one sentence why not."""
    try:
        sessions.open_session(session_id)
    except ProjectError as error:
        st.error(str(error))
