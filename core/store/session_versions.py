"""A session's documents as rows: profiles taken out as blobs, and the history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from core.errors import RecordError, SessionError
from core.records.session import TuningSession
from core.records.session_changes import changes
from core.records.session_json import (
    canonical,
    digest_of,
    parse_json,
    session_from_json,
    session_to_json,
)
from core.store.database import now_s
from core.store.session_blobs import PROFILE, Blob, read_blobs
from core.store.session_states import VersionInfo
from core.store.tables import SESSIONS, VERSIONS

MAX_DOCUMENT_BYTES = 2 << 20
MAX_NOTED_CHANGES = 20


@dataclass(frozen=True)
class Packed:
    """A document as it is stored: text with the profiles' digests, and the profiles apart."""

    text: str
    profiles: tuple[Blob, ...]

    @property
    def digests(self) -> set[str]:
        """Of every blob the text names."""
        return digests_in(self.text)


def pack(document: TuningSession) -> Packed:
    """Raises RecordError where the document is larger than the store takes."""
    values = session_to_json(document)
    blobs = {}
    for name, profile in values["profiles"].items():
        data = canonical(profile).encode()
        blobs[name] = Blob(digest_of(data), PROFILE, data)
    values["profiles"] = {name: blob.digest for name, blob in blobs.items()}
    text = canonical(values)
    for what, size in [("The session", len(text)), *((n, len(b.data)) for n, b in blobs.items())]:
        if size > MAX_DOCUMENT_BYTES:
            raise RecordError(
                f"{what} takes {size >> 10} KiB; at most {MAX_DOCUMENT_BYTES >> 10} KiB are kept."
            )
    return Packed(text, tuple(blobs.values()))


def digests_in(text: str) -> set[str]:
    """Digests of the workload and the profiles that a stored text names."""
    values = json.loads(text)
    found = set(values["profiles"].values())
    return found | ({values["workload"]["digest"]} if values["workload"] else set())


def unpack(connection: sa.Connection, text: str, where: str) -> TuningSession:
    """The document; every field checked, since others may write to the database."""
    values: Any = parse_json(text, where)
    if not isinstance(values, dict) or not isinstance(values.get("profiles"), dict):
        raise SessionError(f"{where} is damaged in the database.")
    wanted: Mapping[str, str] = values["profiles"]
    found = read_blobs(connection, wanted.values()) if wanted else {}
    profiles = {}
    for name, digest in wanted.items():
        data = found.get(digest)
        if data is None or digest_of(data) != digest:
            raise SessionError(f"{where}: profile {name!r} is missing or damaged in the database.")
        profiles[name] = parse_json(data, f"{where}, profile {name!r}")
    return session_from_json({**values, "profiles": profiles}, where)


def read_document(connection: sa.Connection, session_id: str, version: int) -> TuningSession | None:
    """The document of one version; None where the history does not have it."""
    statement = sa.select(VERSIONS.c.document).where(
        VERSIONS.c.session_id == session_id, VERSIONS.c.version == version
    )
    text = connection.execute(statement).scalar_one_or_none()
    return None if text is None else unpack(connection, text, f"session version {version}")


def read_text(connection: sa.Connection, session_id: str, version: int) -> str | None:
    """The stored text of one version; None where the history does not have it."""
    statement = sa.select(VERSIONS.c.document).where(
        VERSIONS.c.session_id == session_id, VERSIONS.c.version == version
    )
    return connection.execute(statement).scalar_one_or_none()


def advance(connection: sa.Connection, session_id: str, version: int, name: str, who: str) -> bool:
    """Make version + 1 the newest; False if `version` is not the newest any more.

    The first write of a save, so that of two writers one waits here and then fails.
    """
    statement = (
        sa.update(SESSIONS)
        .where(SESSIONS.c.session_id == session_id, SESSIONS.c.version == version)
        .values(version=version + 1, name=name, saved_at=now_s(connection), saved_by=who)
    )
    return connection.execute(statement).rowcount == 1


def add_version(
    connection: sa.Connection,
    session_id: str,
    entry: VersionInfo,
    packed: Packed,
) -> None:
    """Append to the history; entry.saved_at is taken from the database's clock instead."""
    connection.execute(
        sa.insert(VERSIONS).values(
            session_id=session_id,
            version=entry.version,
            saved_at=now_s(connection),
            saved_by=entry.saved_by,
            action=entry.action,
            based_on=entry.based_on,
            changes=json.dumps(entry.changes),
            document=packed.text,
        )
    )


def noted_changes(before: TuningSession | None, after: TuningSession) -> tuple[str, ...]:
    """Lines for the history, with the number of those left out as the last."""
    if before is None:
        return ()
    texts = [change.text for change in changes(before, after)]
    if len(texts) > MAX_NOTED_CHANGES:
        texts[MAX_NOTED_CHANGES:] = [f"and {len(texts) - MAX_NOTED_CHANGES} more"]
    return tuple(texts)


def read_history(
    connection: sa.Connection, session_id: str, limit: int | None = None
) -> list[VersionInfo]:
    """The newest first."""
    columns = [column for column in VERSIONS.c if column.name not in ("session_id", "document")]
    statement = (
        sa.select(*columns)
        .where(VERSIONS.c.session_id == session_id)
        .order_by(VERSIONS.c.version.desc())
        .limit(limit)
    )
    rows = connection.execute(statement).mappings()
    return [replace(VersionInfo(**row), changes=tuple(json.loads(row["changes"]))) for row in rows]
