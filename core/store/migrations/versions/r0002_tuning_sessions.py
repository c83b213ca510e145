"""Tuning sessions: documents with history, blobs by content, members, links and comments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _session_column(primary_key: bool = False) -> sa.Column[str]:
    key = sa.ForeignKey("tuning_sessions.session_id", ondelete="CASCADE")
    return sa.Column("session_id", sa.String(32), key, nullable=False, primary_key=primary_key)


def upgrade() -> None:
    op.create_table(
        "tuning_sessions",
        sa.Column("session_id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("saved_at", sa.Float, nullable=False),
        sa.Column("saved_by", sa.String(255), nullable=False),
        sa.Column("forked_from", sa.String(32)),
        sa.Column("forked_version", sa.Integer),
    )
    op.create_table(
        "session_versions",
        _session_column(primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("saved_at", sa.Float, nullable=False),
        sa.Column("saved_by", sa.String(255), nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("based_on", sa.Integer),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    _blobs()
    _people()


def _blobs() -> None:
    op.create_table(
        "session_blobs",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("touched_at", sa.Float, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "session_blob_refs",
        _session_column(primary_key=True),
        sa.Column("digest", sa.String(64), sa.ForeignKey("session_blobs.digest"), primary_key=True),
    )
    op.create_index("ix_session_blob_refs_digest", "session_blob_refs", ["digest"])


def _people() -> None:
    op.create_table(
        "session_members",
        _session_column(primary_key=True),
        sa.Column("who", sa.String(255), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
    )
    op.create_index("ix_session_members_who", "session_members", ["who"])
    op.create_table(
        "session_links",
        sa.Column("token", sa.String(32), primary_key=True),
        _session_column(),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.UniqueConstraint("session_id", "role", name="uq_session_links_role"),
    )
    op.create_table(
        "session_comments",
        sa.Column("comment_id", sa.Integer, primary_key=True),
        _session_column(),
        sa.Column("author", sa.String(255), nullable=False),
        sa.Column("written_at", sa.Float, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("ix_session_comments_session", "session_comments", ["session_id"])
