"""Links that give somebody less than they say, for the owner took a role back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "session_link_limits",
        sa.Column(
            "token",
            sa.String(32),
            sa.ForeignKey("session_links.token", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("who", sa.String(255), primary_key=True),
        sa.Column("role", sa.String(16)),
    )
