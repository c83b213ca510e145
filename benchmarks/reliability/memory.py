"""Does the dashboard's memory stay flat while visitors come and go?"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.reliability.crowd import coming_and_going
from benchmarks.reliability.dashboard import Server
from benchmarks.reliability.habits import BucketHabit, TourHabit, UploadHabit
from benchmarks.reliability.visitor import Diary, Habit

SAMPLE_EVERY_S = 10.0
STAY_S = (20.0, 120.0)
WARM_UP_SHARE = 1 / 3
"""Of the run: by then every page was drawn and every cache is full."""


@dataclass(frozen=True)
class Use:
    """A run. times_s, rss_mib : when the memory was looked at since the start, and what it was."""

    diary: Diary
    times_s: np.ndarray
    rss_mib: np.ndarray
    server_cores: float

    @property
    def slope_mib_per_hour(self) -> float:
        """Of a line through the samples after the warm-up."""
        late = self._late
        return float(np.polyfit(self.times_s[late] / 3600, self.rss_mib[late], 1)[0])

    @property
    def _late(self) -> np.ndarray:
        return self.times_s >= self.times_s[-1] * WARM_UP_SHARE

    def text(self) -> str:
        """What happened, in a few lines."""
        late, peak = self.rss_mib[self._late], self.rss_mib.max()
        visits, changes = len(self.diary.loads_s), len(self.diary.changes_s)
        every = max(1, len(self.rss_mib) // 12)
        series = ", ".join(
            f"{at / 60:.0f} min {mib:.0f}"
            for at, mib in zip(self.times_s[::every], self.rss_mib[::every], strict=True)
        )
        return (
            f"{self.times_s[-1] / 60:.0f} minutes, {visits:,} visits, {changes:,} changes, "
            f"{len(self.diary.errors)} errors, {self.server_cores:.2f} cores.\n"
            f"Memory after warm-up: {late.min():.0f} to {late.max():.0f} MiB, slope "
            f"{self.slope_mib_per_hour:+.1f} MiB an hour; highest {peak:.0f} MiB.\n"
            f"Samples [MiB]: {series}."
        )


def any_habit(draw: random.Random) -> Habit:
    """Mostly bucket sets on traffic of one's own, then a tour of the pages, now and then a file."""
    kind = draw.random()
    if kind < 0.5:
        return BucketHabit(round(draw.uniform(0.3, 3.0), 3))
    return TourHabit(draw) if kind < 0.85 else UploadHabit()


def use(clients: int, seconds: float, seed: int, say: Callable[[str], None]) -> Use:
    """`clients` visitors at a time, on all pages, for so long."""
    with Server.dashboard() as server:
        begin, cpu = time.monotonic(), server.cpu_s
        samples: list[tuple[float, float]] = []

        async def watch() -> None:
            while time.monotonic() - begin < seconds:
                samples.append((time.monotonic() - begin, server.rss_mib))
                if len(samples) % 6 == 1:
                    say(f"{samples[-1][0] / 60:.1f} min: {samples[-1][1]:.0f} MiB")
                await asyncio.sleep(SAMPLE_EVERY_S)

        async def both() -> Diary:
            people = coming_and_going(server.address, any_habit, clients, seconds, STAY_S, seed)
            diary, _ = await asyncio.gather(people, watch())
            return diary

        diary = asyncio.run(both())
        cores = (server.cpu_s - cpu) / (time.monotonic() - begin)
    times, rss = (np.array(column) for column in zip(*samples, strict=True))
    return Use(diary, times, rss, cores)
