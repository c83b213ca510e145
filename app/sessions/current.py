"""Tuning sessions kept in the database; the only file in app that knows where they live."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import state
from app.measuring.jobs import prepared_url
from app.sessions.document import document, fill, reading_for
from app.web import identity
from core.errors import ProjectError, SessionAccessError
from core.readers.reading import Reading
from core.records.session import TuningSession
from core.store.session_states import LoadedSession
from core.store.sessions import Role, SessionConflict, SessionStore

__all__ = ["Role", "SessionConflict"]


@st.cache_resource(show_spinner="Opening the session store …")
def store() -> SessionStore:
    """One store a server process."""
    return SessionStore(prepared_url())


def me() -> str:
    """Whom the store knows this browser's person by. Raises SettingError."""
    return identity.current().who


def introduce() -> None:
    """Tell the store, once a browser session, what this person is shown as.

    Only after they got a part in a session: a made-up link leaves no row.
    """
    person = identity.current()
    if person != identity.LOCAL and state.session().introduced != person:
        store().introduce(person.who, person.name)
        state.session().introduced = person


def create(name: str) -> str:
    """Keep the present work as a new session; returns its id. Raises SessionError."""
    made = document(name)
    session_id = store().create(me(), made, reading_for(made))
    introduce()
    follow(session_id, 1, Role.OWNER, made)
    return session_id


def import_file(data: bytes, name: str) -> None:
    """Keep a session file as a new session, and open it. Raises RecordError, InputError."""
    session_id = store().import_file(data, me(), name)
    introduce()
    open_session(session_id)


def follow(session_id: str, version: int, role: Role, saved: TuningSession) -> None:
    """From now on this browser's work is that session, and `saved` is what it was last."""
    session = state.session()
    session.open_id, session.open_version, session.open_role = session_id, version, role.value
    session.open_name, session.open_notes, session.saved = saved.name, saved.notes, saved
    session.save_problem = session.conflict = None


def loaded(session_id: str, version: int | None = None) -> LoadedSession:
    """A session, or an older version of it, to look at. Raises SessionError."""
    newest = store().load(session_id, me())
    if version is None or version == newest.version:
        return newest
    return LoadedSession(newest.info, store().load_version(session_id, version, me()), version)


def traffic_of(session_id: str, kept: TuningSession) -> Reading | None:
    """The traffic that a session's document names. Raises SessionError."""
    if kept.workload is None:
        return None
    return store().load_workload(session_id, me(), kept.workload.digest)


def open_session(session_id: str) -> None:
    """Make a kept session this browser's work. Raises SessionError, RecordError."""
    found = loaded(session_id)
    fill(found.document, traffic_of(session_id, found.document))
    follow(session_id, found.version, found.role, found.document)


def open_link(key: str) -> str:
    """Take the role that a share link gives; returns the session's id. Raises SessionError."""
    session_id = store().open_link(key, me())[0]
    introduce()
    return session_id


def save(name: str | None = None, notes: str | None = None) -> bool:
    """Keep what changed; False where nothing did, or this browser may only look.

    Raises SessionConflict where somebody else saved since, SessionError.
    """
    session = state.session()
    if session.open_id is None or session.open_role == Role.VIEWER.value:
        return False
    new = document(name or session.open_name, session.open_notes if notes is None else notes)
    if new == session.saved:
        return False
    # The traffic goes along only where the session does not hold it yet: packing it takes time.
    held = session.saved is not None and session.saved.workload == new.workload
    reading = None if held else reading_for(new)
    try:
        version = store().save(session.open_id, new, session.open_version, me(), reading)
    except SessionConflict as conflict:
        session.conflict = conflict
        raise
    follow(session.open_id, version, Role(session.open_role), new)
    return True


def autosave() -> bool:
    """Keep the work as it goes; True where something new is to be told.

    A conflict waits for the user's choice, and so does what the store refused: nothing is written.
    """
    session = state.session()
    if session.conflict is not None:
        return False
    before = session.save_problem
    try:
        save()
    except SessionConflict:
        return True
    except SessionAccessError as error:
        _look_again(str(error))
    except ProjectError as error:
        session.save_problem = str(error)
    else:
        session.save_problem = None
    return session.save_problem not in (None, before)


def _look_again(refusal: str) -> None:
    """The role changed while the session was open: a viewer from now on, or out of it."""
    session = state.session()
    assert session.open_id is not None
    try:
        session.open_role = store().head(session.open_id, me()).role.value
    except SessionAccessError:
        refusal = f"The session {session.open_name!r} is not shared with you any more."
        close()
    except ProjectError:
        pass  # the refusal is told; the next save looks again
    session.save_problem = f"{refusal} Your work is still in this browser, unsaved."


def fork(mine: TuningSession | None = None) -> str:
    """A copy of one's own, with what was changed in this browser; returns its id.

    Raises SessionError.
    """
    session = state.session()
    assert session.open_id is not None
    mine = mine or document(session.open_name, session.open_notes)
    reading = reading_for(mine)
    session_id = store().fork(session.open_id, me())
    introduce()
    copy = loaded(session_id)
    kept = replace(mine, name=copy.document.name)
    version = store().save(session_id, kept, copy.version, me(), reading)
    fill(kept, reading)
    follow(session_id, version, Role.OWNER, kept)
    return session_id


def go_back(version: int | None) -> bool:
    """Restore an older version, or undo the last save (None); False where there is none left.

    Raises SessionError, SessionConflict.
    """
    session_id = state.session().open_id
    assert session_id is not None
    if version is None:
        made = store().undo(session_id, me())
    else:
        made = store().restore(session_id, version, me())
    if made is not None:
        open_session(session_id)
    return made is not None


def close() -> None:
    """Work on without keeping it."""
    session = state.session()
    session.open_id, session.open_role = None, ""
    session.conflict = session.saved = session.save_problem = None


def delete() -> None:
    """Take the open session out of the database; the work stays in this browser, unsaved.

    Raises SessionError.
    """
    session_id = state.session().open_id
    assert session_id is not None
    store().delete(session_id, me())
    close()
