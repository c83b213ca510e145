"""A migrated database a test, and heartbeats as workers would write them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.store import workers as heartbeats
from core.store.database import make_engine
from core.store.jobs import PROTOCOL, JobClient, migrate
from core.store.workers import Identity


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A SQLite database with all tables."""
    made = f"sqlite:///{tmp_path / 'jobs.sqlite'}"
    migrate(made)
    return made


@pytest.fixture
def client(url: str) -> Iterator[JobClient]:
    made = JobClient(url)
    yield made
    made.close()


@pytest.fixture
def report(url: str) -> Iterator[Callable[..., None]]:
    """Write a heartbeat: report("gpu0", "measure.nvidia-h200", doing="idle", ...)."""
    engine = make_engine(url)

    def write(executor_id: str, queue: str, doing: str = "idle", protocol: str = PROTOCOL) -> None:
        kind = queue.removeprefix("measure.")
        who = Identity(executor_id, "host", 1, kind, kind.upper(), queue, protocol)
        heartbeats.beat(engine, who, time.time(), doing)

    yield write
    engine.dispose()
