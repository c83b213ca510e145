"""A worker's heartbeat, and its eye on jobs that no live worker has."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import exc

from core.errors import ProjectError
from core.store import workers as heartbeats
from core.store.database import make_engine
from core.store.jobs import JobClient
from core.store.kinds import MEASURE
from core.store.workers import Identity
from gpu_worker.child import with_url
from gpu_worker.orphan import OrphanWatch

ROOT = Path(__file__).resolve().parents[1]
LOOK_EVERY_S = 5.0
DOING_CHARS = 255
"""What the column holds; a set may have a long name."""


class Heart:
    """Writes the heartbeat row, and looks after jobs that no live worker has.

    has_orphan : whether one of them counts as this worker's own
    """

    def __init__(self, identity: Identity, url: str, doing: Callable[[], str]) -> None:
        self._identity = identity
        self._url = url
        self._doing = doing
        self._engine = make_engine(url)
        self._client = JobClient(url)
        self._started_at = time.time()
        self._next_look = time.monotonic() + LOOK_EVERY_S
        self._takeovers: dict[str, subprocess.Popen[bytes]] = {}
        self._orphans = OrphanWatch()
        self.has_orphan = False

    def beat(self) -> None:
        """A database that is away for a while costs beats, not the worker."""
        try:
            doing = self._doing()[:DOING_CHARS]
            heartbeats.beat(self._engine, self._identity, self._started_at, doing)
        except exc.SQLAlchemyError as error:
            self._say(f"heartbeat failed: {error}")

    def leave(self) -> None:
        """Sign off."""
        try:
            heartbeats.leave(self._engine, self._identity.executor_id)
        except exc.SQLAlchemyError as error:
            self._say(f"could not sign off: {error}")

    def help_others(self) -> None:
        """Take waiting jobs that nobody hears, and running jobs whose worker is dead."""
        self._takeovers = {k: p for k, p in self._takeovers.items() if p.poll() is None}
        try:
            if self._identity.protocol == MEASURE.protocol:
                self._client.adopt_waiting(self._identity.queue)
            if time.monotonic() >= self._next_look:
                self._next_look = time.monotonic() + LOOK_EVERY_S
                for executor_id in self._client.stranded(self._identity.queue):
                    self._take_over(executor_id)
                held = self._client.protocols_of(self._identity.executor_id)
                holds_job = self._identity.protocol in held
                self.has_orphan = self._orphans.look(self._doing(), holds_job)
        except ProjectError as error:
            self._orphans = OrphanWatch()
            self._say(f"could not look: {error}")

    def _take_over(self, executor_id: str) -> None:
        """In a process of its own, and not waited for: this worker's heart must go on beating."""
        if executor_id in self._takeovers or executor_id == self._identity.executor_id:
            return
        command = [sys.executable, "-m", "gpu_worker.takeover", "--dead", executor_id]
        environment = with_url(os.environ, self._url)
        self._takeovers[executor_id] = subprocess.Popen(command, cwd=ROOT, env=environment)

    def _say(self, text: str) -> None:
        print(f"{self._identity.executor_id}: {text}", file=sys.stderr)
