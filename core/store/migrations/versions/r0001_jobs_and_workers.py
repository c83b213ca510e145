"""Measuring jobs and the workers' heartbeats, as they were made before there were revisions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "measure_jobs",
        sa.Column("job_id", sa.String(64), primary_key=True),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("queue", sa.String(128), nullable=False),
        sa.Column("queue_fixed", sa.Boolean, nullable=False),
        sa.Column("timeout_s", sa.Float),
        sa.Column("submitted_at", sa.Float, nullable=False),
        sa.Column("cancelled_at", sa.Float),
    )
    op.create_index("ix_measure_jobs_submitted_at", "measure_jobs", ["submitted_at"])
    op.create_table(
        "measure_workers",
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
