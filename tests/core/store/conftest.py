"""A migrated database a test, on SQLite and on Postgres, and heartbeats as workers write them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.store import workers as heartbeats
from core.store.database import make_engine
from core.store.jobs import JobClient, migrate
from core.store.kinds import MEASURE
from core.store.sessions import SessionStore
from core.store.workers import Identity
from tests.conftest import POSTGRES_MARKS

ON_POSTGRES = pytest.param("postgres", marks=POSTGRES_MARKS)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with all tables, to copy from."""
    path = tmp_path_factory.mktemp("migrated") / "all.sqlite"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", ON_POSTGRES])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "postgres":
        reason = request.getfixturevalue("postgres").reason
        if reason:
            pytest.skip(reason)
    return request.param


@pytest.fixture
def empty_url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database without any table."""
    if backend == "postgres":
        return request.getfixturevalue("postgres").fresh(migrated=False)
    return f"sqlite:///{tmp_path / 'empty.sqlite'}"


@pytest.fixture
def url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database with all tables."""
    if backend == "postgres":
        return request.getfixturevalue("postgres").fresh()
    path = tmp_path / "jobs.sqlite"
    shutil.copy(request.getfixturevalue("migrated_file"), path)
    return f"sqlite:///{path}"


@pytest.fixture
def store(url: str) -> Iterator[SessionStore]:
    made = SessionStore(url)
    yield made
    made.close()


@pytest.fixture
def client(url: str) -> Iterator[JobClient]:
    made = JobClient(url)
    yield made
    made.close()


@pytest.fixture
def report(url: str) -> Iterator[Callable[..., None]]:
    """Write a heartbeat: report("gpu0", "measure.nvidia-h200", doing="idle", ...)."""
    engine = make_engine(url)

    def write(
        executor_id: str, queue: str, doing: str = "idle", protocol: str = MEASURE.protocol
    ) -> None:
        kind = queue.removeprefix("measure.")
        who = Identity(executor_id, "host", 1, kind, kind.upper(), queue, protocol)
        heartbeats.beat(engine, who, time.time(), doing)

    yield write
    engine.dispose()
