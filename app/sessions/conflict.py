"""Two writers of one session: what both did, and the ways on; nothing of either is lost."""

from __future__ import annotations

from app import state
from app.sessions import current as sessions
from app.sessions.document import document, fill, reading_for
from core.records.session import TuningSession
from core.records.session_changes import Merge, merge
from core.store.sessions import Role, SessionConflict

BOTH, THEIRS, MINE, COPY = "both", "theirs", "mine", "copy"


def _conflict() -> SessionConflict:
    conflict = state.session().conflict
    assert conflict is not None
    return conflict


def mine() -> TuningSession:
    """What this browser holds now, which may be more than what was refused."""
    refused = _conflict().mine
    return document(refused.name, refused.notes)


def joined() -> Merge:
    """Both writers' changes in one document; where both changed a field, this browser's."""
    base, ours = _conflict().base, mine()
    return Merge(ours, ()) if base is None else merge(base, ours, _conflict().theirs)


def settle(choice: str) -> None:
    """End a conflict: BOTH joins, THEIRS takes the other's, MINE is saved over it, and COPY keeps
    this browser's work as a session of its own.

    Raises SessionError; SessionConflict where somebody saved once more, which is the new conflict.
    """
    session, conflict = state.session(), _conflict()
    session_id = session.open_id
    assert session_id is not None
    if choice == THEIRS:
        sessions.open_session(session_id)
        return
    if choice == COPY:
        sessions.fork(mine())
        return
    kept = joined().session if choice == BOTH else mine()
    # Traffic that is not this browser's is held by the session already: theirs, or the base's.
    reading = reading_for(kept)
    try:
        version = sessions.store().save(session_id, kept, conflict.version, sessions.me(), reading)
    except SessionConflict as again:
        session.conflict = again
        raise
    fill(kept, reading or sessions.traffic_of(session_id, kept))
    sessions.follow(session_id, version, Role(session.open_role), kept)
