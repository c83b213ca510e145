"""Many visitors of one dashboard at the same time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable

from benchmarks.reliability.visitor import Diary, Habit, visit

THINK_S = (2.0, 8.0)
ARRIVE_WITHIN_S = 10.0


async def crowd(
    address: str,
    habits: list[Habit],
    seconds: float,
    seed: int,
    think_s: tuple[float, float] = THINK_S,
) -> Diary:
    """One visitor a habit; all come within the first seconds and stay to the end."""
    until = time.monotonic() + seconds
    found = await asyncio.gather(
        *(
            _arrive(address, habit, random.Random(f"{seed}-{i}"), until, think_s)
            for i, habit in enumerate(habits)
        )
    )
    total = Diary()
    for diary in found:
        total.add(diary)
    return total


async def _arrive(
    address: str, habit: Habit, draw: random.Random, until: float, think_s: tuple[float, float]
) -> Diary:
    await asyncio.sleep(draw.uniform(0.0, ARRIVE_WITHIN_S))
    return await visit(address, habit, draw, until, think_s)


async def coming_and_going(
    address: str,
    habit: Callable[[random.Random], Habit],
    clients: int,
    seconds: float,
    stay_s: tuple[float, float],
    seed: int,
    think_s: tuple[float, float] = THINK_S,
) -> Diary:
    """`clients` places; in each, visitors follow one another, each staying for a while.

    stay_s : least and most that one stays [s]
    """
    until, total = time.monotonic() + seconds, Diary()

    async def place(number: int) -> None:
        draw = random.Random(f"{seed}-{number}")
        await asyncio.sleep(draw.uniform(0.0, ARRIVE_WITHIN_S))
        while time.monotonic() < until:
            leave = min(until, time.monotonic() + draw.uniform(*stay_s))
            total.add(await visit(address, habit(draw), draw, leave, think_s))

    await asyncio.gather(*(place(number) for number in range(clients)))
    return total
