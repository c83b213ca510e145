"""What every call of the session store is made of: transactions, drafts, appending a version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import exc

from core.errors import RecordError, SessionError
from core.readers.reading import Reading
from core.records.session import TuningSession
from core.store import session_people as people
from core.store import session_versions as versions
from core.store.database import default_database_url, make_engine
from core.store.session_blobs import WORKLOAD, Blob, put_blobs, refs_of
from core.store.session_names import shown_name
from core.store.session_states import Role, SessionConflict, SessionInfo, VersionInfo
from core.store.tables import MEMBERS, SESSIONS
from core.store.workloads import workload_to_bytes


@dataclass(frozen=True)
class Draft:
    """A document on its way into the store, with what it names."""

    document: TuningSession
    packed: versions.Packed
    blobs: tuple[Blob, ...] = ()


def draft(document: TuningSession, workload: Reading | None) -> Draft:
    """Raises RecordError where the workload is not the one that the document names."""
    packed = versions.pack(document)
    if workload is None:
        return Draft(document, packed, packed.profiles)
    digest, data = workload_to_bytes(workload)
    if document.workload is None or document.workload.digest != digest:
        named = document.workload.digest if document.workload else "none"
        raise RecordError(
            f"The session names workload {named}, the reading given with it is {digest}."
        )
    return Draft(document, packed, (*packed.profiles, Blob(digest, WORKLOAD, data)))


class SessionBase:
    """The database and its transactions."""

    def __init__(self, url: str | None = None) -> None:
        """Raises SessionError if the tables are not there yet."""
        self.url = url or default_database_url()
        self._engine = make_engine(self.url)
        with self._transaction() as connection:
            there = sa.inspect(connection).has_table(SESSIONS.name)
        if not there:
            self.close()
            raise SessionError(
                "The database has no tables for sessions; run `python -m core.store migrate` once."
            )

    def close(self) -> None:
        """Give the database connections back."""
        self._engine.dispose()

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except exc.SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise SessionError(
                f"The session database did not answer: {reason}. Nothing was written; try again."
            ) from error

    def _info(self, connection: sa.Connection, session_id: str, who: str) -> SessionInfo:
        people.require(connection, session_id, who, Role.VIEWER)
        return session_infos(connection, who, session_id)[0]

    def _append(
        self,
        connection: sa.Connection,
        session_id: str,
        version: int,
        entry: VersionInfo,
        new: Draft,
    ) -> int | None:
        """The number of the version added after `version`; None if that is not the newest.

        A document like that of `version` adds none.
        """
        text = versions.read_text(connection, session_id, version)
        newest = sa.select(SESSIONS.c.version).where(SESSIONS.c.session_id == session_id)
        if text == new.packed.text:
            return version if connection.execute(newest).scalar_one() == version else None
        if not versions.advance(connection, session_id, version, new.document.name, entry.saved_by):
            return None
        self._write(connection, session_id, entry, new)
        return entry.version

    def _write(
        self, connection: sa.Connection, session_id: str, entry: VersionInfo, new: Draft
    ) -> None:
        put_blobs(connection, session_id, new.blobs)
        # Knowing a digest is not enough: the content must have come with this session.
        if new.packed.digests - refs_of(connection, session_id):
            raise RecordError(
                "The session names traffic that it does not hold; give the reading with it."
            )
        versions.add_version(connection, session_id, entry, new.packed)

    def _conflict(self, session_id: str, mine: Draft, version: int) -> int:
        """Raises SessionConflict, unless the other writer wrote the same."""
        with self._transaction() as connection:
            found = versions.read_history(connection, session_id, limit=1)
            if not found:
                raise SessionError("The session was deleted while you were changing it.")
            newest = found[0]
            text = versions.read_text(connection, session_id, newest.version)
            if text == mine.packed.text:
                return newest.version
            theirs = versions.read_document(connection, session_id, newest.version)
            base = versions.read_document(connection, session_id, version)
            name = shown_name(connection, newest.saved_by)
        assert theirs is not None
        raise SessionConflict(newest, theirs, mine.document, base, name)


def session_infos(
    connection: sa.Connection, who: str, session_id: str | None = None
) -> list[SessionInfo]:
    """Sessions that somebody has a part in, the last saved first."""
    owner = MEMBERS.alias("owner")
    statement = (
        sa.select(SESSIONS, MEMBERS.c.role, owner.c.who.label("owner"))
        .join(MEMBERS, MEMBERS.c.session_id == SESSIONS.c.session_id)
        .join(owner, owner.c.session_id == SESSIONS.c.session_id)
        .where(MEMBERS.c.who == who, owner.c.role == Role.OWNER.value)
        .order_by(SESSIONS.c.saved_at.desc(), SESSIONS.c.session_id)
    )
    if session_id is not None:
        statement = statement.where(SESSIONS.c.session_id == session_id)
    rows = connection.execute(statement).mappings()
    return [SessionInfo(**{**row, "role": Role(row["role"])}) for row in rows]
