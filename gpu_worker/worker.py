"""One worker: one device or core, one queue, one job at a time; reports every two seconds."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

from core.store.kinds import SWEEP
from core.store.workers import Identity
from gpu_worker.engine import start_engine
from gpu_worker.heart import Heart
from gpu_worker.lifeline import claim_id, die_with_parent

BEAT_EVERY_S = 2.0
NICE = 5
"""Simulating gives way to measuring, whose host times it would disturb."""

EXIT_ID_TAKEN = 4
EXIT_JOB_ORPHANED = 5


def run_worker(identity: Identity, url: str, on_up: Callable[[], None]) -> int:
    """Take jobs until SIGTERM or the parent's death. Returns the exit code."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    die_with_parent(os.getppid())
    lock = claim_id(identity.executor_id, url)
    if lock is None:
        return EXIT_ID_TAKEN
    if identity.protocol == SWEEP.protocol:
        os.nice(NICE)
    from gpu_worker.running import RUNNING  # the job engine: slow to import

    RUNNING.connect(url, identity.executor_id)
    start_engine(url, identity.executor_id, identity.protocol, [identity.queue])
    heart = Heart(identity, url, lambda: RUNNING.doing)
    heart.beat()
    on_up()
    while not stop.wait(BEAT_EVERY_S):
        heart.beat()
        heart.help_others()
        if heart.has_orphan:
            say = "holds a job that it does not run; it starts again to take it up"
            print(f"{identity.executor_id}: {say}", file=sys.stderr, flush=True)
            os._exit(EXIT_JOB_ORPHANED)
    # What is done is in the database and the step in flight will run again, so there is nothing
    # to wait for: kill the measuring process and go.
    RUNNING.shut_down()
    heart.leave()
    os._exit(0)
