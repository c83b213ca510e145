"""Our own tables brought to the newest revision, all or nothing; the job engine's are apart."""

from __future__ import annotations

import threading
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from core.errors import SettingError
from core.store.database import JOBS, make_engine

FIRST = "0001"
"""The schema of databases that were made before there were revisions."""

# Alembic keeps what it works on in its modules: one migration at a time in a process.
_ONE = threading.Lock()
_LOCK_KEY = 0x6275636B6574
_FOLDER = Path(__file__).resolve().parent / "migrations"


def _config(connection: sa.Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def revisions() -> list[str]:
    """All revisions, oldest first."""
    scripts = ScriptDirectory.from_config(_config())
    return [script.revision for script in scripts.walk_revisions()][::-1]


def revision_of(connection: sa.Connection) -> str | None:
    """The database's revision; None for one that was never migrated."""
    return MigrationContext.configure(connection).get_current_revision()


def migrate_tables(url: str, target: str = "head") -> None:
    """Create or update our tables, in one transaction; harmless to repeat, also at once.

    A database with our first tables but without a revision is taken for the first revision.
    Raises SettingError for a database that a newer version has written.
    """
    engine = make_engine(url)
    try:
        with _ONE, engine.connect() as connection:
            _begin_alone(connection)
            _upgrade(connection, target)
            connection.commit()
    finally:
        engine.dispose()


def _begin_alone(connection: sa.Connection) -> None:
    """Start a transaction that no other migration runs beside."""
    if connection.dialect.name == "sqlite":
        # A copied table is dropped on the way, which must not delete what refers to it.
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.commit()
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))


def _upgrade(connection: sa.Connection, target: str) -> None:
    present = revision_of(connection)
    if present is not None and present not in revisions():
        raise SettingError(
            f"The database has schema revision {present}, which this version does not know; "
            "update Bucketwise, or give it another database."
        )
    if present is None and sa.inspect(connection).has_table(JOBS.name):
        command.stamp(_config(connection), FIRST)
    command.upgrade(_config(connection), target)
