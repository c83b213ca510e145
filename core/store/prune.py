"""What is thrown away with time: finished jobs, silent workers, old versions, what nobody names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from core.errors import ProjectError, SettingError
from core.store import session_names as names
from core.store.database import WORKERS, make_engine, now_s
from core.store.engine import database_answers
from core.store.job_table import ids_before
from core.store.jobs import JobClient
from core.store.session_blobs import GRACE_S, drop_unused
from core.store.session_versions import digests_in
from core.store.tables import BLOB_REFS, SESSIONS, VERSIONS

DAY_S = 86_400.0
SETTINGS = {
    "job_days": "BUCKETWISE_JOB_DAYS",
    "versions": "BUCKETWISE_VERSIONS",
    "version_days": "BUCKETWISE_VERSION_DAYS",
}
"""What of Retention the environment sets; "inf" keeps for good."""


@dataclass(frozen=True)
class Retention:
    """What is kept.

    job_days : a finished job stays this long after its end, and as long as a session's newest
        version names it
    worker_days : a worker's row stays this long after it was last heard
    versions : so many of a session's newest versions stay in any case
    version_days : older ones stay this long
    people_days : the name of somebody without a part in any session stays this long
    grace_s : content that nobody names stays this long [s], for a save that is under way
    """

    job_days: float = 30.0
    worker_days: float = 7.0
    versions: int = 200
    version_days: float = 30.0
    people_days: float = 7.0
    grace_s: float = GRACE_S

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value >= (1 if item.name == "versions" else 0):
                raise SettingError(f"{item.name} is {value}; it must be 0 or more, versions 1.")


def retention_setting(environment: Mapping[str, str]) -> Retention:
    """What is kept as the environment says, else by default. Raises SettingError."""
    values: dict[str, Any] = {}
    for field, name in SETTINGS.items():
        text = environment.get(name, "").strip()
        if not text:
            continue
        try:
            values[field] = int(text) if field == "versions" else float(text)
        except ValueError as error:
            raise SettingError(f"{name} is {text!r}; a number is expected.") from error
    return Retention(**values)


@dataclass(frozen=True)
class Pruned:
    """How many of each were deleted. unreadable_jobs : old ones kept, for nobody can tell."""

    jobs: int
    unreadable_jobs: int
    workers: int
    versions: int
    blobs: int
    people: int

    @property
    def anything(self) -> bool:
        """Whether something was deleted."""
        return bool(self.jobs or self.workers or self.versions or self.blobs or self.people)

    @property
    def text(self) -> str:
        return (
            f"Deleted {self.jobs} finished jobs, {self.workers} silent workers, "
            f"{self.versions} old versions, {self.blobs} pieces of content nobody names and "
            f"{self.people} names of people without a session; "
            f"kept {self.unreadable_jobs} old jobs that cannot be read."
        )


@database_answers()
def prune(url: str, keep: Retention | None = None) -> Pruned:
    """Delete what is past its time; harmless to repeat, and while others work.

    Raises JobError if the tables are not there.
    """
    keep = keep or Retention()
    client = JobClient(url)
    engine = make_engine(url)
    try:
        jobs, unreadable = _jobs(client, engine, keep.job_days)
        with engine.begin() as connection:
            workers = _workers(connection, keep.worker_days)
            versions = _versions(connection, keep)
            blobs = drop_unused(connection, keep.grace_s)
            people = names.forget(connection, now_s(connection) - keep.people_days * DAY_S)
        return Pruned(jobs, unreadable, workers, versions, blobs, people)
    finally:
        engine.dispose()
        client.close()


def _jobs(client: JobClient, engine: sa.Engine, days: float) -> tuple[int, int]:
    with engine.connect() as connection:
        before = now_s(connection) - days * DAY_S
        candidates = ids_before(connection, before)
        named = _named_jobs(connection) if candidates else set()
    deleted = unreadable = 0
    for job_id in candidates:
        try:
            state = client.state(job_id)
        except ProjectError:
            unreadable += 1
            continue
        ended_at = max(state.submitted_at, state.ended_at or 0.0)
        if state.finished and ended_at <= before and job_id not in named:
            client.delete(job_id)
            deleted += 1
    return deleted, unreadable


def _named_jobs(connection: sa.Connection) -> set[str]:
    newest = (VERSIONS.c.session_id == SESSIONS.c.session_id) & (
        VERSIONS.c.version == SESSIONS.c.version
    )
    statement = sa.select(VERSIONS.c.document).join(SESSIONS, newest)
    return {
        job for text in connection.execute(statement).scalars() for job in json.loads(text)["jobs"]
    }


def _workers(connection: sa.Connection, days: float) -> int:
    before = now_s(connection) - days * DAY_S
    return connection.execute(sa.delete(WORKERS).where(WORKERS.c.seen_at <= before)).rowcount


def _versions(connection: sa.Connection, keep: Retention) -> int:
    before = now_s(connection) - keep.version_days * DAY_S
    old = sa.select(VERSIONS.c.session_id).join(
        SESSIONS, VERSIONS.c.session_id == SESSIONS.c.session_id
    )
    old = old.where(
        VERSIONS.c.saved_at <= before, VERSIONS.c.version <= SESSIONS.c.version - keep.versions
    )
    deleted = 0
    for session_id in list(connection.execute(old.distinct()).scalars()):
        # The row is written first, so that a save waits until the names are counted again.
        connection.execute(
            sa.update(SESSIONS)
            .where(SESSIONS.c.session_id == session_id)
            .values(version=SESSIONS.c.version)
        )
        newest = sa.select(SESSIONS.c.version).where(SESSIONS.c.session_id == session_id)
        deleted += connection.execute(
            sa.delete(VERSIONS).where(
                VERSIONS.c.session_id == session_id,
                VERSIONS.c.saved_at <= before,
                VERSIONS.c.version <= newest.scalar_subquery() - keep.versions,
            )
        ).rowcount
        _recount_names(connection, session_id)
    return deleted


def _recount_names(connection: sa.Connection, session_id: str) -> None:
    """Forget the content that only deleted versions named."""
    texts = sa.select(VERSIONS.c.document).where(VERSIONS.c.session_id == session_id)
    named: set[str] = set()
    for text in connection.execute(texts).scalars():
        named |= digests_in(text)
    connection.execute(
        sa.delete(BLOB_REFS).where(
            BLOB_REFS.c.session_id == session_id, BLOB_REFS.c.digest.not_in(named)
        )
    )
