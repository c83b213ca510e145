"""A visit: somebody opens a page, then changes something now and then, and what they met."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
from websockets.exceptions import WebSocketException

from benchmarks.reliability.wire import Run, Tab

PATIENCE_S = 60.0


@dataclass(frozen=True)
class Change:
    """Widgets to set, the chart that must be there afterwards, and a text that it must show."""

    values: Mapping[str, Any]
    chart: str | None = None
    shows: str = ""


class Habit(Protocol):
    """Where a visitor goes, what comes first there, and what the next change is."""

    page: str
    query: str

    async def begin(self, tab: Tab, draw: random.Random) -> Run: ...

    def next(self, draw: random.Random) -> Change: ...


@dataclass
class Diary:
    """What one visitor, or all of them, met. Times: [s]."""

    loads_s: list[float] = field(default_factory=list)
    changes_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    num_bytes: int = 0

    def add(self, other: Diary) -> None:
        self.loads_s += other.loads_s
        self.changes_s += other.changes_s
        self.errors += other.errors
        self.num_bytes += other.num_bytes

    def note(self, run: Run) -> None:
        self.errors += run.errors
        self.num_bytes += run.num_bytes


async def visit(
    address: str, habit: Habit, draw: random.Random, until_s: float, think_s: tuple[float, float]
) -> Diary:
    """One tab until the monotonic time until_s; think_s : least and most between changes [s]."""
    diary = Diary()
    try:
        async with Tab(address, habit.page, habit.query) as tab:
            await _work(tab, habit, draw, until_s, think_s, diary)
    except (OSError, WebSocketException, TimeoutError, KeyError, httpx.HTTPError) as error:
        diary.errors.append(f"{type(error).__name__}: {error}")
    return diary


async def _work(
    tab: Tab,
    habit: Habit,
    draw: random.Random,
    until_s: float,
    think_s: tuple[float, float],
    diary: Diary,
) -> None:
    first = await asyncio.wait_for(habit.begin(tab, draw), PATIENCE_S)
    diary.note(first)
    diary.loads_s.append(first.seconds)
    while True:
        pause = draw.uniform(*think_s)
        if time.monotonic() + pause > until_s:
            return
        await asyncio.sleep(pause)
        change = habit.next(draw)
        run = await asyncio.wait_for(tab.change(change.values), PATIENCE_S)
        diary.note(run)
        diary.changes_s.append(run.seconds)
        if change.chart and change.shows not in tab.charts.get(change.chart, "(none)"):
            diary.errors.append(f"after {dict(change.values)} the chart does not show it")
