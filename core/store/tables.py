"""The tables of tuning sessions. Times are Unix time by the database's clock [s], never dates.

A session's head is a number in `tuning_sessions`; its documents are rows of `session_versions`
that are never changed. Workloads and profiles lie once each in `session_blobs`, by content.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from core.store.database import JOBS, METADATA, WORKERS

ID = sa.String(32)
WHO = sa.String(255)

SESSIONS = sa.Table(
    "tuning_sessions",
    METADATA,
    sa.Column("session_id", ID, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("saved_at", sa.Float, nullable=False),
    sa.Column("saved_by", WHO, nullable=False),
    # The session and version it was forked from; no foreign key, for the other may be deleted.
    sa.Column("forked_from", ID),
    sa.Column("forked_version", sa.Integer),
)


def _session_column(primary_key: bool = False) -> sa.Column[str]:
    key = sa.ForeignKey("tuning_sessions.session_id", ondelete="CASCADE")
    return sa.Column("session_id", ID, key, nullable=False, primary_key=primary_key)


VERSIONS = sa.Table(
    "session_versions",
    METADATA,
    _session_column(primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("saved_at", sa.Float, nullable=False),
    sa.Column("saved_by", WHO, nullable=False),
    sa.Column("action", sa.String(16), nullable=False),
    # The version that one step of undo leads to.
    sa.Column("based_on", sa.Integer),
    sa.Column("changes", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)

BLOBS = sa.Table(
    "session_blobs",
    METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("touched_at", sa.Float, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

BLOB_REFS = sa.Table(
    "session_blob_refs",
    METADATA,
    _session_column(primary_key=True),
    sa.Column("digest", sa.String(64), sa.ForeignKey("session_blobs.digest"), primary_key=True),
    sa.Index("ix_session_blob_refs_digest", "digest"),
)

MEMBERS = sa.Table(
    "session_members",
    METADATA,
    _session_column(primary_key=True),
    sa.Column("who", WHO, primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Index("ix_session_members_who", "who"),
)

LINKS = sa.Table(
    "session_links",
    METADATA,
    sa.Column("token", ID, primary_key=True),
    _session_column(),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.UniqueConstraint("session_id", "role", name="uq_session_links_role"),
)

LINK_LIMITS = sa.Table(
    "session_link_limits",
    METADATA,
    sa.Column(
        "token", ID, sa.ForeignKey("session_links.token", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("who", WHO, primary_key=True),
    # The most that the link gives this person; null: nothing.
    sa.Column("role", sa.String(16)),
)

COMMENTS = sa.Table(
    "session_comments",
    METADATA,
    sa.Column("comment_id", sa.Integer, primary_key=True),
    _session_column(),
    sa.Column("author", WHO, nullable=False),
    sa.Column("written_at", sa.Float, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("ix_session_comments_session", "session_id"),
)

PEOPLE = sa.Table(
    "people",
    METADATA,
    sa.Column("who", WHO, primary_key=True),
    # What they are shown as: an e-mail address, or a name; it may change.
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("seen_at", sa.Float, nullable=False),
)


def insert_or(connection: sa.Connection, table: sa.Table, **values: Any) -> Any:
    """An insert that knows on_conflict_do_update and on_conflict_do_nothing."""
    make = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return make(table).values(values)


__all__ = [
    "BLOBS", "BLOB_REFS", "COMMENTS", "JOBS", "LINKS", "LINK_LIMITS", "MEMBERS", "METADATA",
    "PEOPLE", "SESSIONS", "VERSIONS", "WORKERS", "insert_or",
]  # fmt: skip
