"""Where every page meets the kept session; without one, the store is not even imported.

Loading the database's library takes half a second, which a first visit need not wait for.
"""

from __future__ import annotations

import streamlit as st

from app import state


def open_linked() -> None:
    """A link with ?key=KEY takes its role, one with ?session=ID opens that session; each once."""
    held = state.session()
    key, wanted = st.query_params.get("key"), st.query_params.get("session")
    new_key = bool(key) and key != held.link_key
    new_session = bool(wanted) and wanted not in held.from_address
    held.link_key = key or held.link_key
    held.from_address.add(wanted)
    if new_key or new_session:
        from app.sessions.view import open_from_address

        open_from_address(key if new_key else None, wanted)


def show_conflict() -> None:
    """On every page: somebody else saved first, and the user chooses; or saving failed."""
    if state.session().conflict is not None:
        from app.sessions.conflict_view import settle_form

        settle_form()
    elif state.session().save_problem:
        from app.drawing.markdown_text import as_text

        st.error(f"Not saved. {as_text(str(state.session().save_problem))}")


def show_role() -> None:
    """On every page: who may only look is told so, and how to keep what they change."""
    if state.session().open_role == "viewer":
        from app.sessions.view import view_only

        view_only()


def autosave() -> None:
    """Keep what changed in the open session; what stands in the way is told at once."""
    if state.session().open_id is not None:
        from app.sessions.current import autosave as save

        if save():
            st.rerun()
