"""What other users of a host see of the processes that a worker starts."""

from __future__ import annotations

import io
import subprocess
from typing import Any

import pytest

from core.store.jobs import JobClient
from core.store.kinds import MEASURE
from core.store.workers import Identity
from gpu_worker.child import measuring_child, simulating_child
from gpu_worker.device import cpu_card
from gpu_worker.heart import Heart
from gpu_worker.housekeeping import Housekeeper
from gpu_worker.supervisor import Supervisor


class Started:
    """A process as it was asked for; none is started."""

    every: list[Started]

    def __init__(self, command: list[str], env: dict[str, str] | None = None, **_: Any) -> None:
        self.command, self.env, self.stdout = command, env or {}, io.StringIO("up\n")
        self.every.append(self)

    def poll(self) -> None:
        return None


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Started]:
    Started.every = []
    monkeypatch.setattr(subprocess, "Popen", Started)
    return Started.every


def check(started: list[Started], url: str, module: str) -> None:
    """The URL is in the environment, which only its own user sees, and nowhere else."""
    process = started.pop()
    assert module in process.command
    assert process.env["BUCKETWISE_DATABASE_URL"] == url and process.env["PATH"]
    assert not any(url in part or "secret" in part for part in process.command)


def test_no_command_line_holds_the_database_password(
    client: JobClient, url: str, monkeypatch: pytest.MonkeyPatch, started: list[Started]
) -> None:
    """Workers, the look after a dead worker's jobs and the daily tidying up; what the setting was
    before gives way to what the worker was started with."""
    monkeypatch.setenv("BUCKETWISE_DATABASE_URL", "sqlite:////another.db")
    secret = f"{url}?secret=1"
    supervisor = Supervisor(secret, [])
    for child in (measuring_child("node7", cpu_card()), simulating_child("node7")):
        supervisor._start(child)
        check(started, secret, "gpu_worker")
    Housekeeper(secret, now=0.0, first_after_s=0.0).step(1.0)
    check(started, secret, "core.store")
    identity = Identity("here-cpu", "here", 1, "cpu", "CPU", "measure.cpu", MEASURE.protocol)
    heart = Heart(identity, url, lambda: "idle")
    heart._url = secret
    heart._take_over("lost-cpu")
    check(started, secret, "gpu_worker.takeover")
    heart._client.close()
    heart._engine.dispose()
