"""Fifty browsers at once: how long a change of the bucket set takes, beside a bare page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.reliability.crowd import crowd
from benchmarks.reliability.dashboard import Server
from benchmarks.reliability.habits import BareHabit, BucketHabit
from benchmarks.reliability.visitor import Diary, Habit

HEAD = (
    "| page | clients | first load p50 / worst [s] | changes | p50 [s] | p95 [s] | worst [s] "
    "| errors | memory before / after [MiB] | server's CPU [cores] | clients' CPU [cores] |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True)
class Crowded:
    """One crowd on one server."""

    name: str
    clients: int
    diary: Diary
    before_mib: float
    after_mib: float
    server_cores: float
    client_cores: float

    def row(self) -> str:
        """A line of the table."""
        loads, changes = self.diary.loads_s, self.diary.changes_s
        p50, p95 = np.percentile(changes, [50, 95])
        return (
            f"| {self.name} | {self.clients} | {np.median(loads):.2f} / {max(loads):.2f} "
            f"| {len(changes):,} | {p50:.2f} | {p95:.2f} | {max(changes):.2f} "
            f"| {len(self.diary.errors)} | {self.before_mib:.0f} / {self.after_mib:.0f} "
            f"| {self.server_cores:.2f} | {self.client_cores:.2f} |"
        )


def compare(clients: int, seconds: float, seed: int, say: Callable[[str], None]) -> list[Crowded]:
    """The bare page, the dashboard with one trace for all, and with a trace for each."""
    cases: Sequence[tuple[str, Callable[[], Server], Callable[[int], Habit]]] = (
        ("bare page, one chart", Server.bare, lambda _: BareHabit()),
        ("Buckets, one trace", Server.dashboard, lambda _: BucketHabit()),
        ("Buckets, a trace each", Server.dashboard, lambda i: BucketHabit(0.5 + i / 50)),
    )
    say(HEAD)
    found = []
    for name, start, habit in cases:
        with start() as server:
            habits: list[Habit] = [habit(i) for i in range(clients)]
            found.append(_crowded(name, server, habits, seconds, seed))
        say(found[-1].row())
    return found


def _crowded(name: str, server: Server, habits: list[Habit], seconds: float, seed: int) -> Crowded:
    # One visitor first: what a server loads once is not what a crowd costs.
    asyncio.run(crowd(server.address, habits[:1], 12.0, seed, think_s=(0.5, 1.0)))
    before, server_cpu, own_cpu = server.rss_mib, server.cpu_s, time.process_time()
    begin = time.monotonic()
    diary = asyncio.run(crowd(server.address, habits, seconds, seed))
    took = time.monotonic() - begin
    return Crowded(
        name,
        len(habits),
        diary,
        before,
        server.rss_mib,
        (server.cpu_s - server_cpu) / took,
        (time.process_time() - own_cpu) / took,
    )
