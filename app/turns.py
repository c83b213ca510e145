"""Runs of pages take turns: Python works on one at a time anyway, and side by side all end late.

Without turns fifty browsers whose runs overlap share the interpreter, so that each waits for all
the others; in turn, the first is done while the last still waits. A long run (a simulation) keeps
its turn for a moment only and then goes on beside the others.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_S = 0.5
"""So long a run goes undisturbed [s]; most take a fifth of it."""


class Turns:
    """A line of threads, first come, first served."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._lock = threading.Lock()
        # One event a thread: waking all of them for each turn would cost more than the turn.
        self._line: deque[threading.Event] = deque()
        self._holder: threading.Event | None = None
        self._until_s = 0.0

    @property
    def waiting(self) -> int:
        """How many stand in line."""
        return len(self._line)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Waits for its turn, and has it until the end of the block, but not longer than
        `longest_s` if others wait."""
        place = threading.Event()
        self._stand_in_line(place)
        try:
            yield
        finally:
            self._end(place)

    def _stand_in_line(self, place: threading.Event) -> None:
        with self._lock:
            self._line.append(place)
        while True:
            with self._lock:
                first, left_s = self._line[0] is place, self._seconds_left()
                if first and left_s <= 0:
                    self._line.popleft()
                    self._holder, self._until_s = place, time.monotonic() + self._longest_s
                    self._wake_first()  # from now on it looks at the clock
                    return
                place.clear()
            place.wait(left_s if first else None)

    def _seconds_left(self) -> float:
        """Of the present turn."""
        return 0.0 if self._holder is None else self._until_s - time.monotonic()

    def _end(self, place: threading.Event) -> None:
        with self._lock:
            if self._holder is place:
                self._holder = None
                self._wake_first()

    def _wake_first(self) -> None:
        if self._line:
            self._line[0].set()


TURNS = Turns()
"""Those of this server process."""
