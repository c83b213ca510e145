"""Names of the people who log in, to be shown instead of what identifies them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "people",
        sa.Column("who", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("seen_at", sa.Float, nullable=False),
    )
