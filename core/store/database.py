"""Which database, the tables of jobs and workers, and its clock; the job engine's own are apart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc

from core.errors import SettingError

URL_SETTING = "BUCKETWISE_DATABASE_URL"
DEFAULT_FILE = Path(__file__).resolve().parents[2] / "data" / "bucketwise.sqlite"

METADATA = sa.MetaData()

_BLOB = sa.ForeignKey("session_blobs.digest", name="fk_measure_jobs_workload")

JOBS = sa.Table(
    "measure_jobs",
    METADATA,
    sa.Column("job_id", sa.String(64), primary_key=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("queue", sa.String(128), nullable=False),
    # True: the user named the queue; False: any live worker may take the job to its own.
    sa.Column("queue_fixed", sa.Boolean, nullable=False),
    sa.Column("timeout_s", sa.Float),
    sa.Column("submitted_at", sa.Float, nullable=False, index=True),
    # The engine marks a timed-out job like a cancelled one, so the user's wish is noted here.
    sa.Column("cancelled_at", sa.Float),
    # core.store.kinds; the table is older than all kinds but the first, hence its name.
    sa.Column("kind", sa.String(16), nullable=False, server_default="measure"),
    sa.Column("sent_by", sa.String(255)),
    # No foreign key: the session may be deleted before its job.
    sa.Column("session_id", sa.String(32)),
    # Digest of the requests that the job needs.
    sa.Column("workload", sa.String(64), _BLOB),
    # The step begun last, and how often in a row it was begun.
    sa.Column("trying", sa.String(128)),
    sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
    sa.Index("ix_measure_jobs_workload", "workload"),
)

WORKERS = sa.Table(
    "measure_workers",
    METADATA,
    sa.Column("executor_id", sa.String(128), primary_key=True),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("device_kind", sa.String(128), nullable=False),
    sa.Column("device_name", sa.String(255), nullable=False),
    sa.Column("queue", sa.String(128), nullable=False),
    sa.Column("protocol", sa.String(64), nullable=False),
    sa.Column("started_at", sa.Float, nullable=False),
    sa.Column("seen_at", sa.Float, nullable=False),
    sa.Column("doing", sa.String(255), nullable=False),
)


def default_database_url() -> str:
    """The setting BUCKETWISE_DATABASE_URL, else a SQLite file whose folder is created."""
    url = os.environ.get(URL_SETTING, "").strip()
    if url:
        return url
    DEFAULT_FILE.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{DEFAULT_FILE}"


def checked_url(url: str) -> sa.URL:
    """The URL with the driver that is installed.

    Raises SettingError if it is no SQLite or Postgres URL.
    """
    try:
        parsed = sa.make_url(url)
    except exc.ArgumentError as error:
        raise SettingError(
            f"Database URL {url!r} cannot be read; use sqlite:////path/file.sqlite or "
            "postgresql+psycopg://user@host/name."
        ) from error
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return parsed
    raise SettingError(
        f"Database URL {parsed.render_as_string()} is not supported; use a SQLite file "
        "(sqlite:////path/file.sqlite) or Postgres (postgresql+psycopg://user@host/name)."
    )


def make_engine(url: str) -> sa.Engine:
    """An engine that waits for a busy SQLite file instead of failing."""
    parsed = checked_url(url)
    if parsed.get_backend_name() != "sqlite":
        return sa.create_engine(parsed, pool_pre_ping=True, pool_size=3)
    engine = sa.create_engine(parsed, connect_args={"timeout": 30.0})

    @event.listens_for(engine, "connect")
    def _set_pragmas(connection: Any, _: Any) -> None:
        # Write-ahead log: readers (the pages that poll) never wait for the worker's writes.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine


def now_s(connection: sa.Connection) -> float:
    """The database's clock, Unix time [s]; one clock for all hosts."""
    if connection.dialect.name == "sqlite":
        statement = "SELECT (julianday('now') - 2440587.5) * 86400.0"
    else:
        statement = "SELECT EXTRACT(EPOCH FROM clock_timestamp())"
    return float(connection.execute(sa.text(statement)).scalar_one())
