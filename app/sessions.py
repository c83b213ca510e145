"""Tuning sessions kept in the database; the only file in app that knows where they live."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import state
from app.jobs import prepared_url
from core.readers.reading import Reading
from core.records import CaptureMode, PoolPolicy
from core.records.session import TuningSession, WorkloadRef, plain_settings
from core.store.sessions import LOCAL_USER, Role, SessionConflict, SessionStore
from core.store.workloads import workload_digest

__all__ = ["Role", "SessionConflict"]

# Pasted configurations may hold secrets; the rest is of one browser only, or made anew.
NOT_KEPT = (
    *("address_read", "file_id", "options", "unread", "reread", "served", "swept"),
    *("engine_choice", "stored_digest", "tried"),
    *("own_before", "own_seen", "own_sentence", "own_clicked", "own_taken"),
)
ENUMS = {
    "policy": PoolPolicy,
    "measure_policy": PoolPolicy,
    "capture_mode": CaptureMode,
}
WHO = LOCAL_USER


@st.cache_resource(show_spinner="Opening the session store …")
def store() -> SessionStore:
    """One store a server process."""
    return SessionStore(prepared_url())


def _settings(values: dict[str, Any]) -> dict[str, Any]:
    """What was chosen; a default that a page merely showed is no change of the session."""
    defaults = state.session().defaults
    kept = {
        key: value.value if key in ENUMS and hasattr(value, "value") else value
        for key, value in values.items()
        if key not in NOT_KEPT
        and not key.startswith("config_")
        and not (key in defaults and value == defaults[key])
    }
    return plain_settings(kept)[0]


def document(name: str, notes: str = "") -> TuningSession:
    """This browser session's work as a document."""
    session = state.session()
    workload = session.workload
    ref = None
    if workload is not None:
        ref = WorkloadRef(workload.name, _digest(workload), workload.is_example)
    jobs = (session.job_id,) if session.job_id else ()
    return TuningSession(
        name, ref, _settings(session.values), (), dict(session.profiles), jobs, notes
    )


def _digest(workload: state.Workload) -> str:
    """The content's name, worked out once an upload: it reads every array."""
    stored = state.session().values.get("stored_digest")
    if stored is None or stored[0] != workload.digest:
        stored = (workload.digest, workload_digest(workload.reading))
        state.session().values["stored_digest"] = stored
    return stored[1]


def create(name: str) -> str:
    """Keep the present work as a new session; returns its id. Raises SessionError."""
    made = document(name)
    session_id = store().create(WHO, made, _reading())
    _follow(session_id, 1, Role.OWNER, made)
    return session_id


def _reading() -> Reading | None:
    workload = state.session().workload
    return workload.reading if workload is not None else None


def _follow(session_id: str, version: int, role: Role, saved: TuningSession) -> None:
    session = state.session()
    session.open_id, session.open_version, session.open_role = session_id, version, role.value
    session.open_name, session.open_notes, session.saved = saved.name, saved.notes, saved


def open_session(session_id: str) -> None:
    """Make a kept session this browser's work. Raises SessionError, RecordError."""
    loaded = store().load(session_id, WHO)
    take(loaded.document, session_id)
    _follow(session_id, loaded.version, loaded.role, loaded.document)


def take(kept: TuningSession, session_id: str) -> None:
    """Fill pages and widgets from a document."""
    session = state.session()
    settings = {
        key: ENUMS[key](value) if key in ENUMS else value for key, value in kept.settings.items()
    }
    state.replace_values(settings)
    session.profiles = dict(kept.profiles)
    session.job_id = kept.jobs[-1] if kept.jobs else None
    session.workload = None
    if kept.workload is not None:
        reading = store().load_workload(session_id, WHO, kept.workload.digest)
        ref = kept.workload
        session.workload = state.Workload(ref.name, ref.digest, reading, ref.is_example)
        session.values["stored_digest"] = (ref.digest, ref.digest)


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
    version = store().save(session.open_id, new, session.open_version, WHO, _reading())
    _follow(session.open_id, version, Role(session.open_role), new)
    return True


def autosave() -> None:
    """Keep the work as it goes; a conflict waits for the user's choice, nothing is written."""
    session = state.session()
    if session.conflict is not None:
        return
    try:
        save()
    except SessionConflict as conflict:
        session.conflict = conflict


def settle(choice: str) -> None:
    """End a conflict: "theirs", "both" or "mine". Raises SessionError."""
    session = state.session()
    conflict = session.conflict
    assert conflict is not None and session.open_id is not None
    session.conflict = None
    if choice == "theirs":
        open_session(session.open_id)
        return
    kept = conflict.merged().session if choice == "both" else conflict.mine
    version = store().save(session.open_id, kept, conflict.version, WHO, _reading())
    take(kept, session.open_id)
    _follow(session.open_id, version, Role(session.open_role), kept)


def close() -> None:
    """Work on without keeping it."""
    state.session().open_id = None
    state.session().conflict = None
