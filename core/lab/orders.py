"""Every order in which the card may run a program's streams, and what comes of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from core.errors import SettingError
from core.lab.card import Card

MOST_ORDERS = 20_000
T = TypeVar("T", bound=Hashable)


class _Path:
    """Follows given choices, then always the first; remembers what could have been chosen."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._given = choices
        self._made: list[tuple[int, int]] = []

    def __call__(self, ready: int) -> int:
        at = len(self._made)
        choice = self._given[at] if at < len(self._given) else 0
        self._made.append((choice, ready))
        return choice

    def next(self) -> list[int] | None:
        """The path after this one, depth first; None after the last."""
        for at in reversed(range(len(self._made))):
            choice, ready = self._made[at]
            if choice + 1 < ready:
                return [made for made, _ in self._made[:at]] + [choice + 1]
        return None


def outcomes(program: Callable[[Card], T]) -> Counter[T]:
    """What the program gives, and in how many orders. One outcome: its waits leave no race.

    Raises SettingError where there are more than 20,000 orders.
    """
    found: Counter[T] = Counter()
    choices: list[int] | None = []
    while choices is not None:
        path = _Path(choices)
        found[program(Card(path))] += 1
        if found.total() > MOST_ORDERS:
            raise SettingError(
                f"There are more than {MOST_ORDERS:,} orders of these streams; take fewer steps."
            )
        choices = path.next()
    return found
