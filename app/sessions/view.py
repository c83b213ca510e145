"""The pieces of the Sessions page, and what every page says of the open session."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import streamlit as st

from app import state
from app.address import full_address
from app.drawing.markdown_text import as_text
from app.drawing.views import table
from app.sessions import current as sessions
from app.sessions.current import Role, SessionConflict
from app.sessions.setting_values import readable
from app.web import identity
from core.errors import ProjectError


def when(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M} UTC"


def known_names() -> dict[str, str]:
    """{who: what they are shown as} of everybody in this person's sessions."""
    me = identity.current()
    return {**sessions.store().names_known_to(me.who), me.who: me.name}


def open_from_address(key: str | None, wanted: str | None) -> None:
    """Take a link's role, and open its session or the one that the address names beside it."""
    try:
        linked = sessions.open_link(key) if key else None
    except ProjectError as error:
        linked = None
        st.error(as_text(str(error)))
    session_id = wanted or linked
    if session_id is None:
        return
    try:
        sessions.open_session(session_id)
    except ProjectError as error:
        st.error(as_text(str(error)))


def view_only() -> None:
    """A viewer may play with every widget, and is told that nothing of it is kept."""
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.info("View only: changes stay in this browser; fork to keep them.")
    if right.button("Fork", key="fork_view", width="stretch", help="A copy of your own"):
        _fork()


def _fork() -> None:
    try:
        sessions.fork()
    except ProjectError as error:
        st.error(as_text(str(error)))
    else:
        st.rerun()


def start_form() -> None:
    """Keep the present work under a name."""
    with st.form("new_session", border=False):
        name = st.text_input("Name of the new session", "Tuning")
        if st.form_submit_button("Keep this work as a session", type="primary"):
            sessions.create(name)
            st.rerun()


def show_open(names: dict[str, str]) -> None:
    """The open session: name, notes, address, what can be done with it."""
    session = state.session()
    assert session.open_id is not None
    head = sessions.store().head(session.open_id, sessions.me())
    session.open_role = head.role.value  # the owner may have changed it meanwhile
    st.subheader(as_text(session.open_name), anchor=False)
    st.caption(
        f"Version {head.version}, saved {when(head.saved_at)} by "
        f"{as_text(names.get(head.saved_by, head.saved_by))}; you are {head.role.value}. "
        "Who has a part in it opens it at this address:"
    )
    st.code(full_address("", session=session.open_id), language=None, wrap_lines=True)
    if head.version > session.open_version and session.conflict is None:
        _newer(head.version)
    if session.open_notes:
        st.text(session.open_notes)
    _actions(head.role)
    if head.role.may_edit:
        _rename()


def _newer(version: int) -> None:
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.info(f"Somebody saved version {version} since this browser opened the session.")
    if right.button("Show it", key="show_newest", width="stretch"):
        sessions.open_session(str(state.session().open_id))
        st.rerun()


def _rename() -> None:
    session = state.session()
    with st.expander("Name and notes"), st.form("rename", border=False):
        name = st.text_input("Name", session.open_name)
        notes = st.text_area("Notes", session.open_notes, height=80)
        if st.form_submit_button("Save name and notes"):
            with suppress(SessionConflict):  # the next run shows it beside the page
                sessions.save(name, notes)
            st.rerun()


def _actions(role: Role) -> None:
    session = state.session()
    assert session.open_id is not None
    places = st.columns(4)
    if role.may_edit and places[0].button("Undo the last save", width="stretch"):
        if sessions.go_back(None):
            st.rerun()
        st.info("There is nothing to undo: this is the first version that is kept.")
    if places[1].button("Fork: a copy of your own", width="stretch"):
        _fork()
    places[2].download_button(
        "Save as a file",
        lambda: sessions.store().export_file(str(session.open_id), sessions.me())[1],
        _file_name(),
        "application/json",
        width="stretch",
        on_click="ignore",
    )
    if places[3].button("Close, keep working unsaved", width="stretch"):
        sessions.close()
        st.rerun()


def _file_name() -> str:
    from core.store.session_file import file_name

    saved = state.session().saved
    assert saved is not None
    return file_name(saved)


def show_history(names: dict[str, str]) -> None:
    """Every version that is kept, and the way back to one."""
    session_id = str(state.session().open_id)
    with st.expander("History"):
        versions = sessions.store().history(session_id, sessions.me())
        rows: list[dict[str, object]] = [
            {
                "version": v.version,
                "when": when(v.saved_at),
                "who": names.get(v.saved_by, v.saved_by),
                "action": v.action,
                "changes": "; ".join(map(readable, v.changes)),
            }
            for v in versions
        ]
        table(rows, "history")
        if state.session().open_role == Role.VIEWER.value:
            return
        back_to = st.selectbox("Go back to version", [v.version for v in versions], key="back_to")
        if st.button("Restore it (adds a version, nothing is lost)"):
            sessions.go_back(back_to)
            st.rerun()


def show_comments(names: dict[str, str]) -> None:
    """The thread, and the form to add to it for those who may."""
    session_id, me = str(state.session().open_id), sessions.me()
    role = Role(state.session().open_role)
    with st.expander("Comments"):
        for comment in sessions.store().comments(session_id, me):
            author = as_text(names.get(comment.author, comment.author))
            left, right = st.columns([6, 1])
            left.markdown(f"**{author}**, {when(comment.written_at)}, on version {comment.version}")
            left.text(comment.body)
            mine = comment.author == me and role.may_edit
            if (mine or role is Role.OWNER) and right.button(
                "Delete", key=f"delete_comment_{comment.comment_id}", width="stretch"
            ):
                sessions.store().delete_comment(session_id, comment.comment_id, me)
                st.rerun()
        if not role.may_edit:
            st.caption("Viewers read the comments; editors and the owner write them.")
            return
        with st.form("comment", border=False, clear_on_submit=True):
            body = st.text_area("Comment", height=80)
            if st.form_submit_button("Add the comment") and body.strip():
                sessions.store().comment(session_id, me, body)
                st.rerun()
