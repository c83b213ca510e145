"""Our rows about jobs: what was asked for, by whom, with which requests, and how often tried."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from core.errors import JobError
from core.readers.reading import Reading
from core.store.database import JOBS, now_s
from core.store.session_blobs import WORKLOAD, Blob, keep_blob, read_blobs
from core.store.workloads import workload_from_bytes, workload_to_bytes


def packed_workload(reading: Reading) -> Blob:
    """The requests under the digest of their content. Raises RecordError if there are too many."""
    digest, data = workload_to_bytes(reading)
    return Blob(digest, WORKLOAD, data)


def add_job(
    connection: sa.Connection, spec: Mapping[str, Any], blob: Blob | None, **values: Any
) -> None:
    """A new job's row. blob : requests that it needs, kept once under their digest."""
    if blob is not None:
        keep_blob(connection, blob)
    row = {"spec": json.dumps(spec), "workload": blob.digest if blob else None, **values}
    connection.execute(sa.insert(JOBS).values(**row, submitted_at=now_s(connection)))


def find_job(connection: sa.Connection, job_id: str) -> dict[str, Any]:
    """Raises JobError if there is no such job."""
    statement = sa.select(JOBS).where(JOBS.c.job_id == job_id)
    found = connection.execute(statement).mappings().one_or_none()
    if found is None:
        raise JobError(f"There is no job {job_id!r}; it may have been deleted.")
    return dict(found)


def newest_jobs(
    connection: sa.Connection, limit: int, kind: str | None, sent_by: str | None = None
) -> list[dict[str, Any]]:
    """The newest first. kind, sent_by : None takes all."""
    statement = sa.select(JOBS).order_by(JOBS.c.submitted_at.desc(), JOBS.c.job_id).limit(limit)
    if kind is not None:
        statement = statement.where(JOBS.c.kind == kind)
    if sent_by is not None:
        statement = statement.where(JOBS.c.sent_by == sent_by)
    return [dict(row) for row in connection.execute(statement).mappings()]


def queued_jobs(
    connection: sa.Connection, active: Collection[str], limit: int
) -> list[dict[str, Any]]:
    """The active ones, however old, and the newest, newest first."""
    newest = newest_jobs(connection, limit, None)
    missing = set(active) - {row["job_id"] for row in newest}
    statement = sa.select(JOBS).where(JOBS.c.job_id.in_(missing))
    older = [dict(row) for row in connection.execute(statement).mappings()] if missing else []
    return newest + sorted(older, key=lambda row: row["submitted_at"], reverse=True)


def note_cancel(connection: sa.Connection, job_id: str) -> None:
    """The engine marks a timed-out job like a cancelled one, so the user's wish is noted."""
    _update(connection, job_id, cancelled_at=now_s(connection))


def was_cancelled(connection: sa.Connection, job_id: str) -> bool:
    statement = sa.select(JOBS.c.cancelled_at).where(JOBS.c.job_id == job_id)
    return connection.execute(statement).scalar() is not None


def move_job(connection: sa.Connection, job_id: str, old: str | None, queue: str) -> bool:
    """Take a job that may run anywhere to another queue; False if somebody else was first."""
    # The condition on the old queue lets one of several eager workers win.
    free = (JOBS.c.queue == old) & ~JOBS.c.queue_fixed & JOBS.c.cancelled_at.is_(None)
    statement = sa.update(JOBS).where(JOBS.c.job_id == job_id, free).values(queue=queue)
    return bool(connection.execute(statement).rowcount)


def delete_job(connection: sa.Connection, job_id: str) -> None:
    connection.execute(sa.delete(JOBS).where(JOBS.c.job_id == job_id))


def begin_try(connection: sa.Connection, job_id: str, step: str) -> int:
    """Note that a step begins; how often it was begun in a row, this time included.

    It counts what ends a worker or a measuring process in the middle of a step: a step that ended
    is followed by another.
    """
    again = sa.case((JOBS.c.trying == step, JOBS.c.tries + 1), else_=1)
    _update(connection, job_id, tries=again, trying=step)
    statement = sa.select(JOBS.c.tries).where(JOBS.c.job_id == job_id)
    return connection.execute(statement).scalar() or 1


def take_back_try(connection: sa.Connection, job_id: str) -> None:
    """A worker that is stopped in good order in the middle of a step counts for nothing."""
    _update(connection, job_id, tries=sa.case((JOBS.c.tries > 0, JOBS.c.tries - 1), else_=0))


def load_workload(connection: sa.Connection, digest: str) -> Reading:
    """Requests by their digest. Raises JobError if they are gone, RecordError if damaged."""
    found = read_blobs(connection, [digest])
    if digest not in found:
        raise JobError(f"The requests {digest[:12]} of this job are no longer in the database.")
    return workload_from_bytes(found[digest], digest)


def ids_before(connection: sa.Connection, time_s: float) -> Sequence[str]:
    """Jobs submitted at that time or earlier."""
    statement = sa.select(JOBS.c.job_id).where(JOBS.c.submitted_at <= time_s)
    return connection.execute(statement).scalars().all()


def _update(connection: sa.Connection, job_id: str, **values: Any) -> None:
    connection.execute(sa.update(JOBS).where(JOBS.c.job_id == job_id).values(**values))
