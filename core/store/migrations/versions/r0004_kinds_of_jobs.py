"""Jobs of several kinds: who sent them, the requests they need, and how often a step was tried."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    with op.batch_alter_table("measure_jobs") as jobs:
        jobs.add_column(sa.Column("kind", sa.String(16), nullable=False, server_default="measure"))
        jobs.add_column(sa.Column("sent_by", sa.String(255)))
        jobs.add_column(sa.Column("session_id", sa.String(32)))
        jobs.add_column(sa.Column("workload", sa.String(64)))
        jobs.add_column(sa.Column("trying", sa.String(128)))
        jobs.add_column(sa.Column("tries", sa.Integer, nullable=False, server_default="0"))
        jobs.create_index("ix_measure_jobs_workload", ["workload"])
        jobs.create_foreign_key(
            "fk_measure_jobs_workload", "session_blobs", ["workload"], ["digest"]
        )
