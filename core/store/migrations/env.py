"""What Alembic runs for each command; the caller hands over its open connection."""

from __future__ import annotations

from alembic import context

from core.store.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=METADATA,
    # SQLite cannot alter most of a table in place: it is copied into its new shape.
    render_as_batch=True,
)
context.run_migrations()
