"""Where every page meets the kept session; without one, the store is not even imported.

Loading the database's library takes half a second, which a first visit need not wait for.
"""

from __future__ import annotations

import streamlit as st

from app import state


def open_linked() -> None:
    """A link with ?session=ID opens that session, once."""
    wanted = st.query_params.get("session")
    if not wanted or wanted in (state.session().open_id, state.session().values.get("tried")):
        return
    state.session().values["tried"] = wanted
    from app.session_view import open_session

    open_session(wanted)


def show_conflict() -> None:
    """On every page: somebody else saved first, and the user chooses."""
    if state.session().conflict is not None:
        from app.session_view import settle_form

        settle_form()


def autosave() -> None:
    """Keep what changed in the open session."""
    if state.session().open_id is not None:
        from app.sessions import autosave as save

        save()
