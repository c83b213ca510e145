"""Workloads and profiles, kept once each under the digest of their content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from core.store.database import JOBS, now_s
from core.store.tables import BLOB_REFS, BLOBS, insert_or

WORKLOAD, PROFILE = "workload", "profile"
GRACE_S = 3600.0
"""A blob that nobody names is kept this long [s], for a save that is under way."""


@dataclass(frozen=True)
class Blob:
    """Content and its digest; kind : WORKLOAD or PROFILE."""

    digest: str
    kind: str
    data: bytes


def put_blobs(connection: sa.Connection, session_id: str, blobs: Iterable[Blob]) -> None:
    """Keep the blobs, and note that the session names them."""
    # In one order everywhere, so that two writers of the same blobs do not wait for each other.
    for blob in sorted(blobs, key=lambda b: b.digest):
        keep_blob(connection, blob)
        add_refs(connection, session_id, [blob.digest])


def keep_blob(connection: sa.Connection, blob: Blob) -> None:
    """Keep it for a job, or for a session that is about to name it."""
    now = now_s(connection)
    row = {"digest": blob.digest, "kind": blob.kind, "touched_at": now, "data": blob.data}
    # Touching it also locks it against a prune that runs at the same time.
    connection.execute(
        insert_or(connection, BLOBS, **row).on_conflict_do_update(
            index_elements=[BLOBS.c.digest], set_={"touched_at": now}
        )
    )


def add_refs(connection: sa.Connection, session_id: str, digests: Iterable[str]) -> None:
    """Note that the session names these blobs, which must be there."""
    for digest in sorted(set(digests)):
        row = {"session_id": session_id, "digest": digest}
        connection.execute(insert_or(connection, BLOB_REFS, **row).on_conflict_do_nothing())


def refs_of(connection: sa.Connection, session_id: str) -> set[str]:
    """Digests of all blobs that any version of the session names."""
    statement = sa.select(BLOB_REFS.c.digest).where(BLOB_REFS.c.session_id == session_id)
    return set(connection.execute(statement).scalars())


def read_blobs(connection: sa.Connection, digests: Iterable[str]) -> Mapping[str, bytes]:
    """{digest: data} of those that are there."""
    statement = sa.select(BLOBS.c.digest, BLOBS.c.data).where(BLOBS.c.digest.in_(set(digests)))
    return {row.digest: bytes(row.data) for row in connection.execute(statement)}


def drop_unused(connection: sa.Connection, grace_s: float = GRACE_S) -> int:
    """Delete blobs that neither a session nor a job names; returns how many."""
    named = sa.select(BLOB_REFS.c.digest).where(BLOB_REFS.c.digest == BLOBS.c.digest)
    needed = sa.select(JOBS.c.workload).where(JOBS.c.workload == BLOBS.c.digest)
    old = BLOBS.c.touched_at <= now_s(connection) - grace_s
    unused = sa.delete(BLOBS).where(old, ~named.exists(), ~needed.exists())
    return connection.execute(unused).rowcount
