"""Databases of every earlier schema become the newest one with their rows. On both databases."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from core.errors import SettingError
from core.store.database import make_engine
from core.store.jobs import JobClient, migrate
from core.store.migrate import migrate_tables, revision_of, revisions
from core.store.sessions import SessionStore
from core.store.tables import METADATA
from tests.conftest import ROOT

# The tables as they were made before there were revisions, written out.
UNREVISED = (
    "CREATE TABLE measure_jobs (job_id VARCHAR(64) NOT NULL, spec TEXT NOT NULL, "
    "queue VARCHAR(128) NOT NULL, queue_fixed BOOLEAN NOT NULL, timeout_s FLOAT, "
    "submitted_at FLOAT NOT NULL, cancelled_at FLOAT, PRIMARY KEY (job_id))",
    "CREATE INDEX ix_measure_jobs_submitted_at ON measure_jobs (submitted_at)",
    "CREATE TABLE measure_workers (executor_id VARCHAR(128) NOT NULL, host VARCHAR(255) NOT NULL, "
    "pid INTEGER NOT NULL, device_kind VARCHAR(128) NOT NULL, device_name VARCHAR(255) NOT NULL, "
    "queue VARCHAR(128) NOT NULL, protocol VARCHAR(64) NOT NULL, started_at FLOAT NOT NULL, "
    "seen_at FLOAT NOT NULL, doing VARCHAR(255) NOT NULL, PRIMARY KEY (executor_id))",
)
ROWS: dict[str, dict[str, dict[str, Any]]] = {
    "0001": {
        "measure_jobs": {
            "job_id": "j1", "spec": '{"sizes": [1]}', "queue": "measure.cpu", "queue_fixed": True,
            "timeout_s": None, "submitted_at": 1_764_489_600.25, "cancelled_at": 1_764_489_601.5,
        },
        "measure_workers": {
            "executor_id": "w", "host": "h", "pid": 7, "device_kind": "cpu", "device_name": "CPU",
            "queue": "measure.cpu", "protocol": "measure-0", "started_at": 1.0, "seen_at": 2.0,
            "doing": "idle",
        },
    },
    "0002": {
        "tuning_sessions": {
            "session_id": "s", "name": "n", "version": 1, "created_at": 1.5, "saved_at": 2.5,
            "saved_by": "ana", "forked_from": None, "forked_version": None,
        },
        "session_versions": {
            "session_id": "s", "version": 1, "saved_at": 2.5, "saved_by": "ana",
            "action": "created", "based_on": None, "changes": "[]",
            "document": '{"format":1,"jobs":[],"name":"n","notes":"","profiles":{},"sets":[],'
            '"settings":{"k":3},"workload":null}',
        },
        "session_blobs": {"digest": "d", "kind": "workload", "touched_at": 1.0, "data": b"\x00x"},
        "session_blob_refs": {"session_id": "s", "digest": "d"},
        "session_members": {"session_id": "s", "who": "ana", "role": "owner"},
        "session_links": {
            "token": "t", "session_id": "s", "role": "viewer", "created_at": 1.0,
        },
        "session_comments": {
            "comment_id": 1, "session_id": "s", "author": "ana", "written_at": 3.0, "version": 1,
            "body": "b",
        },
    },
    "0003": {"people": {"who": "ana", "name": "ana@example.org", "seen_at": 4.5}},
    "0004": {
        "measure_jobs": {
            "job_id": "j2", "spec": '{"format": 1}', "queue": "simulate", "queue_fixed": False,
            "timeout_s": 60.0, "submitted_at": 1_764_489_600.25, "cancelled_at": None,
            "kind": "sweep", "sent_by": "ana", "session_id": "s", "workload": "d",
            "trying": "point 3", "tries": 2,
        },
    },
    "0005": {"session_link_limits": {"token": "t", "who": "ben", "role": None}},
}  # fmt: skip


@pytest.fixture
def engine(empty_url: str) -> Iterator[sa.Engine]:
    made = make_engine(empty_url)
    yield made
    made.dispose()


def _insert(engine: sa.Engine, tables: dict[str, dict[str, Any]]) -> None:
    names = [table.name for table in METADATA.sorted_tables if table.name in tables]
    with engine.begin() as connection:
        for name in names:
            table = sa.Table(name, sa.MetaData(), autoload_with=connection)
            connection.execute(sa.insert(table).values(tables[name]))


def _check(engine: sa.Engine, tables: dict[str, dict[str, Any]]) -> None:
    with engine.connect() as connection:
        for name, row in tables.items():
            table = sa.Table(name, sa.MetaData(), autoload_with=connection)
            found = dict(connection.execute(sa.select(table)).mappings().one())
            assert {column: found[column] for column in row} == row


def _shape(engine: sa.Engine) -> dict[str, Any]:
    """Columns, keys and indexes of our tables."""
    inspector = sa.inspect(engine)
    names = [table.name for table in METADATA.sorted_tables]
    return {
        name: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(name)],
            inspector.get_pk_constraint(name)["constrained_columns"],
            sorted(i["name"] or "" for i in inspector.get_indexes(name)),
            sorted(str(k["options"]) for k in inspector.get_foreign_keys(name)),
        )
        for name in names
    }


def _assert_newest(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert revision_of(connection) == revisions()[-1]
        ours = {table.name for table in METADATA.sorted_tables}
        context = MigrationContext.configure(
            connection,
            opts={"include_name": lambda name, kind, _: kind != "table" or name in ours},
        )
        assert compare_metadata(context, METADATA) == []


def test_every_revision_has_rows_to_bring_along() -> None:
    """A new revision needs rows in this file, or nothing would be tested."""
    assert list(ROWS) == revisions()
    assert {name for tables in ROWS.values() for name in tables} == set(METADATA.tables)


def test_a_database_from_before_there_were_revisions(engine: sa.Engine, empty_url: str) -> None:
    """It is taken for the first revision and brought up with its rows."""
    with engine.begin() as connection:
        for statement in UNREVISED:
            connection.exec_driver_sql(statement)
    _insert(engine, ROWS["0001"])
    migrate_tables(empty_url)
    _assert_newest(engine)
    _check(engine, ROWS["0001"])


@pytest.mark.parametrize("revision", revisions())
def test_from_each_revision_to_the_newest(engine: sa.Engine, empty_url: str, revision: str) -> None:
    """Rows of that revision's tables are the same afterwards; repeating changes nothing."""
    migrate_tables(empty_url, revision)
    held = {k: v for r in revisions() if r <= revision for k, v in ROWS[r].items()}
    _insert(engine, held)
    for _ in range(2):
        migrate_tables(empty_url)
        _assert_newest(engine)
        _check(engine, held)


def test_the_tables_are_those_that_the_code_declares(
    engine: sa.Engine, empty_url: str, backend: str, request: pytest.FixtureRequest
) -> None:
    """Migrated and freshly made from the declarations, a database has one shape."""
    migrate_tables(empty_url)
    if backend == "postgres":
        url = request.getfixturevalue("postgres").fresh(migrated=False)
    else:
        url = empty_url.replace("empty", "declared")
    declared = make_engine(url)
    METADATA.create_all(declared)
    assert _shape(engine) == _shape(declared)
    declared.dispose()


def test_all_tables_live_beside_the_job_engines(empty_url: str) -> None:
    """After `migrate` both the queue and the sessions can be opened, and rows are readable."""
    migrate(empty_url)
    migrate(empty_url)
    JobClient(empty_url).close()
    store = SessionStore(empty_url)
    assert store.load(store.create("ana"), "ana").version == 1
    store.close()


def test_an_old_session_is_read(engine: sa.Engine, empty_url: str) -> None:
    """A document written at the first revision with sessions opens."""
    migrate_tables(empty_url, "0002")
    _insert(engine, ROWS["0002"])
    migrate_tables(empty_url)
    store = SessionStore(empty_url)
    assert store.load("s", "ana").document.settings == {"k": 3}
    assert store.open_link("t", "ben")[0] == "s"
    store.close()


def test_a_job_from_before_there_were_kinds_is_a_measurement(
    engine: sa.Engine, empty_url: str
) -> None:
    """It was tried never, nobody is known to have sent it, and it needs no requests."""
    migrate_tables(empty_url, "0003")
    _insert(engine, ROWS["0001"])
    migrate_tables(empty_url)
    new = {"kind": "measure", "tries": 0}
    new |= dict.fromkeys(("sent_by", "session_id", "workload", "trying"))
    _check(engine, {"measure_jobs": {**ROWS["0001"]["measure_jobs"], **new}})


def test_a_newer_database_is_left_alone(engine: sa.Engine, empty_url: str) -> None:
    """An older installation says so instead of guessing."""
    migrate_tables(empty_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SettingError, match="revision 9999, which this version does not know"):
        migrate(empty_url)


def test_a_migration_that_fails_changes_nothing(
    engine: sa.Engine, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a migration is never seen: tables, rows and revision are as before."""
    migrate_tables(empty_url, "0001")
    _insert(engine, ROWS["0001"])
    make_index = op.create_index

    def fail(name: str, *args: Any, **options: Any) -> None:
        if name == "ix_session_comments_session":
            raise RuntimeError("the disk is full")
        make_index(name, *args, **options)

    monkeypatch.setattr(op, "create_index", fail)
    with pytest.raises(RuntimeError, match="disk is full"):
        migrate_tables(empty_url)
    monkeypatch.undo()
    assert not sa.inspect(engine).has_table("tuning_sessions")
    with engine.connect() as connection:
        assert revision_of(connection) == "0001"
    _check(engine, ROWS["0001"])
    migrate_tables(empty_url)
    _assert_newest(engine)


def test_many_migrate_at_once(engine: sa.Engine, empty_url: str) -> None:
    """Dashboard and workers start together: one migrates, the others find it done."""
    code = f"from core.store.migrate import migrate_tables; migrate_tables({empty_url!r})"
    command = [sys.executable, "-c", code]
    others = [
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    threads = [threading.Thread(target=migrate_tables, args=(empty_url,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        assert other.communicate(timeout=60)[1] == "" and other.returncode == 0
    _assert_newest(engine)
