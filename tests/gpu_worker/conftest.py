"""A tiny model, a migrated database, and real worker processes that end with the test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.records import MeasureSpec, ModelShape
from tests.conftest import POSTGRES_MARKS, ROOT

if TYPE_CHECKING:  # GPU hosts may lack the job engine; the tests that need none still run there
    from core.store.jobs import JobClient
    from core.store.states import JobState

TINY = ModelShape(
    name="tiny",
    num_layers=2,
    hidden_size=64,
    num_heads=4,
    num_kv_heads=2,
    head_dim=16,
    ffn_size=128,
    vocab_size=97,
    dtype="float32",
)


def tiny_spec(*sizes: int, **kwargs: object) -> MeasureSpec:
    """A spec whose buckets take milliseconds."""
    values: dict[str, object] = {"model": TINY, "context_tokens": 24, "samples": 5, **kwargs}
    return MeasureSpec(sizes, **values)  # pyright: ignore[reportArgumentType]


def slow_spec(*sizes: int) -> MeasureSpec:
    """A spec of about half a second a bucket on the CPU, all of it warm-up."""
    return tiny_spec(*sizes, warmup=400)


def endless_spec(*sizes: int) -> MeasureSpec:
    """A spec whose first bucket never ends by itself: like a card that hangs."""
    return tiny_spec(*sizes, warmup=10**9)


STOPS_WITHIN_S = 6.0
"""Two seconds where nothing else runs; tests share their cores."""


class WorkerProcess:
    """`python -m gpu_worker` as a user would start it."""

    def __init__(self, url: str, name: str, devices: str, simulate: bool) -> None:
        self._drain: threading.Thread | None = None
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gpu_worker", "--database-url", url),
                *("--name", name, "--devices", devices),
                *([] if simulate else ["--no-simulate"]),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            # Tiny steps on a shared machine: one thread is as fast and disturbs nobody.
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def ready(self) -> str:
        """Its first line; the rest is read and dropped, for a full pipe would stop the worker."""
        stdout = self.process.stdout
        assert stdout is not None
        first = stdout.readline()
        self._drain = threading.Thread(target=lambda: [None for _ in stdout], daemon=True)
        self._drain.start()
        return first

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Send a signal and wait; seconds it took."""
        begin = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(60)
        return time.monotonic() - begin

    def end(self) -> None:
        if self.process.poll() is None:
            self.stop()
        if self._drain is not None:
            self._drain.join(10)
        if self.process.stdout is not None:
            self.process.stdout.close()


StartWorker = Callable[..., WorkerProcess]


# Real processes take long: on Postgres in the full suite alone.
BOTH_DATABASES = pytest.mark.parametrize(
    "backend",
    ["sqlite", pytest.param("postgres", marks=[*POSTGRES_MARKS, pytest.mark.slow])],
    indirect=True,
)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """SQLite, unless a test asks for BOTH_DATABASES."""
    chosen = getattr(request, "param", "sqlite")
    if chosen == "postgres":
        reason = request.getfixturevalue("postgres").reason
        if reason:
            pytest.skip(reason)
    return chosen


@pytest.fixture
def url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database with all tables."""
    from core.store.engine import migrate

    if backend == "postgres":
        return request.getfixturevalue("postgres").fresh()
    made = f"sqlite:///{tmp_path / 'jobs.sqlite'}"
    migrate(made)
    return made


@pytest.fixture
def client(url: str) -> Iterator[JobClient]:
    from core.store.jobs import JobClient

    made = JobClient(url)
    yield made
    made.close()


@pytest.fixture
def start_worker(url: str) -> Iterator[StartWorker]:
    """Start workers; all are ended after the test. simulate : one for sweeps too."""
    started: list[WorkerProcess] = []

    def start(name: str = "here", devices: str = "cpu", simulate: bool = False) -> WorkerProcess:
        worker = WorkerProcess(url, name, devices, simulate)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.end()


def wait_for(
    client: JobClient, job_id: str, until: Callable[[JobState], bool], seconds: float = 240
) -> list[JobState]:
    """Look at the job until it is as asked; all looks that differ from the one before."""
    looks: list[JobState] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = client.state(job_id)
        if not looks or looks[-1] != state:
            looks.append(state)
        if until(state):
            return looks
        time.sleep(0.02)
    raise AssertionError(f"after {seconds:g} s: {looks[-1].status}: {looks[-1].message}")


def finished(state: JobState) -> bool:
    return state.finished


def children_of(pid: int) -> list[int]:
    """Process ids of direct children."""
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(part) for text in texts for part in text.split()]


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
