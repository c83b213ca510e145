"""Tuning sessions in the database: who may read and write them is decided here alone.

`who` is any text that names a person, the same at every visit; where nobody logs in, LOCAL_USER.
"""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from core.errors import SessionError
from core.readers.reading import Reading
from core.records.session import MAX_NAME_CHARS, TuningSession, checked_name
from core.store import session_people as people
from core.store import session_versions as versions
from core.store.database import now_s
from core.store.session_base import Draft, draft, session_infos
from core.store.session_blobs import add_refs, read_blobs, refs_of
from core.store.session_file import file_name, session_from_file, session_to_file
from core.store.session_history import HistoryCalls
from core.store.session_sharing import SharingCalls
from core.store.session_states import (
    LOCAL_USER,
    LoadedSession,
    Role,
    SessionConflict,
    SessionInfo,
    VersionInfo,
)
from core.store.tables import SESSIONS
from core.store.workloads import workload_from_bytes

__all__ = ["LOCAL_USER", "Role", "SessionConflict", "SessionStore"]


class SessionStore(HistoryCalls, SharingCalls):
    """Keeps sessions. Safe to share between threads.

    Every call raises SessionAccessError where `who` lacks the role, and SessionError where the
    database cannot be reached; then nothing was written.
    """

    def create(
        self,
        owner: str,
        document: TuningSession | None = None,
        workload: Reading | None = None,
        action: str = "created",
    ) -> str:
        """Keep a new session; returns its id, 128 random bits.

        workload : the reading that document.workload names, if it names one
        action : the word for the history's first line
        Raises RecordError where they do not belong together, or are too large.
        """
        checked_name(owner, "The owner")
        new = draft(document or TuningSession(), workload)
        with self._transaction() as connection:
            return self._insert(connection, owner, new, action)

    def _insert(
        self,
        connection: sa.Connection,
        owner: str,
        new: Draft,
        action: str,
        origin: SessionInfo | None = None,
    ) -> str:
        session_id, now = people.new_id(), now_s(connection)
        connection.execute(
            sa.insert(SESSIONS).values(
                session_id=session_id,
                name=new.document.name,
                version=1,
                created_at=now,
                saved_at=now,
                saved_by=owner,
                forked_from=origin.session_id if origin else None,
                forked_version=origin.version if origin else None,
            )
        )
        people.set_member(connection, session_id, owner, Role.OWNER)
        if origin is not None:
            # The content was the other session's, which the forker may read: it goes along.
            add_refs(connection, session_id, new.packed.digests)
        self._write(connection, session_id, VersionInfo(1, now, owner, action, None, ()), new)
        return session_id

    def load(self, session_id: str, who: str) -> LoadedSession:
        """The newest version, for anybody who has a part in the session."""
        with self._transaction() as connection:
            info = self._info(connection, session_id, who)
            document = versions.read_document(connection, session_id, info.version)
        if document is None:
            raise SessionError(f"Version {info.version} of the session is not in the database.")
        return LoadedSession(info, document, info.version)

    def head(self, session_id: str, who: str) -> SessionInfo:
        """The newest version's number, time and writer: a look that is cheap enough to repeat."""
        with self._transaction() as connection:
            return self._info(connection, session_id, who)

    def load_workload(self, session_id: str, who: str, digest: str | None = None) -> Reading:
        """The session's traffic. digest : that of an older version; None for the newest's.

        Raises SessionError if the session does not hold it.
        """
        if digest is None:
            ref = self.load(session_id, who).document.workload
            digest = ref.digest if ref else ""
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.VIEWER)
            held = digest in refs_of(connection, session_id)
            data = read_blobs(connection, [digest]).get(digest) if held else None
        if data is None:
            raise SessionError("The session does not hold this traffic; upload the file again.")
        return workload_from_bytes(data, digest)

    def save(
        self,
        session_id: str,
        document: TuningSession,
        version: int,
        who: str,
        workload: Reading | None = None,
    ) -> int:
        """Keep a changed document; returns its version. A document like the newest adds none.

        version : the one that the change started from, as `load` or the last `save` gave it
        workload : needed the first time that the session names this traffic
        Raises SessionConflict if somebody else saved since; RecordError on unfit content.
        """
        new = draft(document, workload)
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.EDITOR)
            before = versions.read_document(connection, session_id, version)
            lines = versions.noted_changes(before, document)
            entry = VersionInfo(version + 1, 0.0, who, "saved", version, lines)
            done = self._append(connection, session_id, version, entry, new)
        return done or self._conflict(session_id, new, version)

    def list_for(self, who: str) -> list[SessionInfo]:
        """Sessions that somebody has a part in, the last saved first."""
        with self._transaction() as connection:
            return session_infos(connection, who)

    def fork(self, session_id: str, who: str, name: str | None = None) -> str:
        """A copy of the newest version that belongs to `who`; returns its id.

        History, comments, members and links stay with the first.
        """
        checked_name(who, "The owner")
        with self._transaction() as connection:
            info = self._info(connection, session_id, who)
            document = versions.read_document(connection, session_id, info.version)
            if document is None:
                raise SessionError(f"Version {info.version} of the session is not there.")
            made = name or f"{document.name[: MAX_NAME_CHARS - 7]} (fork)"
            copy = draft(replace(document, name=made), None)
            return self._insert(connection, who, copy, "forked", info)

    def export_file(self, session_id: str, who: str) -> tuple[str, bytes]:
        """(file name, bytes) of the newest version with its traffic, for anybody with a part."""
        document = self.load(session_id, who).document
        named = document.workload
        workload = self.load_workload(session_id, who, named.digest) if named else None
        return file_name(document), session_to_file(document, workload)

    def import_file(self, data: bytes, owner: str, name: str = "file") -> str:
        """Keep an exported session as a new one; returns its id.

        Raises RecordError or InputError on anything that is no session file.
        """
        document, workload = session_from_file(data, name)
        return self.create(owner, document, workload, "imported")

    def delete(self, session_id: str, who: str) -> None:
        """Take the session out with its history, comments and links. For the owner alone.

        Content that no other session names goes with the next prune.
        """
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.OWNER)
            connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.session_id == session_id))
