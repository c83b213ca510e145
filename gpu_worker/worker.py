"""One worker: one device, one queue, one job at a time; reports every two seconds."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import exc

from core.store import workers as heartbeats
from core.store.database import make_engine
from core.store.jobs import APPLICATION, PROTOCOL, JobClient, engine_url, refuse_pickle
from core.store.workers import Identity
from gpu_worker.lifeline import claim_id, die_with_parent

BEAT_EVERY_S = 2.0
TAKEOVER_EVERY_S = 10.0
QUEUE_POLL_S = 0.25

EXIT_ID_TAKEN = 4
ROOT = Path(__file__).resolve().parents[1]


def run_worker(identity: Identity, url: str, on_up: Callable[[], None]) -> int:
    """Take jobs until SIGTERM or the parent's death. Returns the exit code."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    die_with_parent(os.getppid())
    lock = claim_id(identity.executor_id, url)
    if lock is None:
        return EXIT_ID_TAKEN
    bench = launch(identity, url)
    heart = Heart(identity, url, lambda: bench.doing)
    heart.beat()
    on_up()
    while not stop.wait(BEAT_EVERY_S):
        heart.beat()
        heart.help_others()
    # What is measured is in the database and the bucket in flight will run again, so there is
    # nothing to wait for: kill the measuring process and go.
    bench.stopping.set()
    bench.close()
    heart.leave()
    os._exit(0)


def launch(identity: Identity, url: str) -> Any:
    """Start the job engine for this worker; what it does is told by the returned bench."""
    refuse_pickle()
    logging.getLogger("dbos").addFilter(is_news)
    from dbos import DBOS, DBOSPortableJSONSerializer

    from gpu_worker.workflow import BENCH

    DBOS(
        config={
            "name": APPLICATION,
            "system_database_url": engine_url(url),
            "executor_id": identity.executor_id,
            "application_version": PROTOCOL,
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": os.environ.get("BUCKETWISE_LOG_LEVEL", "WARNING"),
            "enable_otlp": False,
        }
    )
    DBOS.listen_queues([identity.queue])
    DBOS.launch()
    DBOS.register_queue(identity.queue, worker_concurrency=1, polling_interval_sec=QUEUE_POLL_S)
    return BENCH


def is_news(record: logging.LogRecord) -> bool:
    """False for the engine's traceback of a job that was cancelled while it ran: that is no
    fault, and the job's own state says it."""
    error = record.exc_info[1] if record.exc_info else None
    quiet = type(error).__name__ == "DBOSAwaitedWorkflowCancelledError"
    return not quiet and "is no longer owned by this execution" not in record.getMessage()


class Heart:
    """Writes the heartbeat row, and looks after jobs that no live worker has."""

    def __init__(self, identity: Identity, url: str, doing: Callable[[], str]) -> None:
        self._identity = identity
        self._url = url
        self._doing = doing
        self._engine = make_engine(url)
        self._client = JobClient(url)
        self._started_at = time.time()
        self._next_takeover = time.monotonic() + TAKEOVER_EVERY_S

    def beat(self) -> None:
        """A database that is away for a while costs beats, not the worker."""
        try:
            heartbeats.beat(self._engine, self._identity, self._started_at, self._doing())
        except exc.SQLAlchemyError as error:
            print(f"{self._identity.executor_id}: heartbeat failed: {error}", file=sys.stderr)

    def leave(self) -> None:
        """Sign off."""
        try:
            heartbeats.leave(self._engine, self._identity.executor_id)
        except exc.SQLAlchemyError as error:
            print(f"{self._identity.executor_id}: could not sign off: {error}", file=sys.stderr)

    def help_others(self) -> None:
        """Take waiting jobs that nobody hears, and running jobs whose worker is dead."""
        try:
            self._client.adopt_waiting(self._identity.queue)
            if time.monotonic() >= self._next_takeover:
                self._next_takeover = time.monotonic() + TAKEOVER_EVERY_S
                for executor_id in self._client.stranded(self._identity.queue):
                    self._take_over(executor_id)
        except exc.SQLAlchemyError as error:
            print(f"{self._identity.executor_id}: could not look: {error}", file=sys.stderr)

    def _take_over(self, executor_id: str) -> None:
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "gpu_worker.takeover",
                "--dead",
                executor_id,
                "--url",
                self._url,
            ],
            cwd=ROOT,
        ).wait(60)
