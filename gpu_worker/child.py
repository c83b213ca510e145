"""A worker process as its supervisor sees it: who it is, what it runs, when it was started."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from core.store.database import URL_SETTING
from core.store.kinds.measure import MEASURE, queue_name
from core.store.kinds.sweep import SIMULATE_QUEUE, SWEEP
from gpu_worker.device import Card, cpu_name, environment_for

SIMULATION_KIND = "simulation"
"""Device kind of the worker that simulates: it uses one core and no card."""

FIRST_PAUSE_S = 0.5


@dataclass
class Child:
    """A worker process and how often it had to be started lately.

    executor_id : stable over restarts: host and what it works on, e.g. "node7-gpu0"
    environment : of the process
    """

    executor_id: str
    host: str
    device_kind: str
    device_name: str
    queue: str
    protocol: str
    environment: Mapping[str, str]
    process: subprocess.Popen[str] | None = None
    up: threading.Event = field(default_factory=threading.Event)
    started: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    next_start: float = 0.0

    def identity(self) -> dict[str, str]:
        """What the worker reports, but for its process id."""
        return {
            "executor_id": self.executor_id,
            "host": self.host,
            "device_kind": self.device_kind,
            "device_name": self.device_name,
            "queue": self.queue,
            "protocol": self.protocol,
        }


def with_url(environment: Mapping[str, str], url: str) -> dict[str, str]:
    """The environment of a process that uses this database.

    A command line is for every user of the host to see, and the URL may hold a password.
    """
    return {**environment, URL_SETTING: url}


def measuring_child(host: str, card: Card) -> Child:
    """One for a card, or for the CPU: "node7-gpu0", "laptop-cpu"."""
    place = "cpu" if card.index is None else f"gpu{card.index}"
    return Child(
        *(f"{host}-{place}", host, card.kind, card.name),
        *(queue_name(card.kind), MEASURE.protocol, environment_for(card)),
    )


def simulating_child(host: str) -> Child:
    """The one of a host that runs sweeps: "laptop-sim"."""
    name = f"simulation on {cpu_name()}"
    return Child(
        *(f"{host}-sim", host, SIMULATION_KIND, name, SIMULATE_QUEUE, SWEEP.protocol),
        {**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
