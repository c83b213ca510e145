"""Runs take turns, in the order in which they came, and a long one does not hold up the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from app.turns import Turns

PATIENCE_S = 10.0


class Crew:
    """Threads that come one after the other, and what they did."""

    def __init__(self, turns: Turns) -> None:
        self.turns, self.done = turns, []
        self.inside = self.most_inside = 0
        self._lock = threading.Lock()
        self.threads: list[threading.Thread] = []

    def send(self, name: str, work: Callable[[], object] = lambda: None) -> None:
        """Start one, and wait until it has its turn or stands in the queue."""
        waiting = self.turns.waiting
        begun = threading.Event()
        thread = threading.Thread(target=self._run, args=(name, work, begun))
        self.threads.append(thread)
        thread.start()
        end = time.monotonic() + PATIENCE_S
        while not begun.is_set() and self.turns.waiting <= waiting:
            assert time.monotonic() < end
            time.sleep(0.001)

    def _run(self, name: str, work: Callable[[], object], begun: threading.Event) -> None:
        with self.turns.one():
            begun.set()
            with self._lock:
                self.inside += 1
                self.most_inside = max(self.most_inside, self.inside)
            work()
            with self._lock:
                self.inside -= 1
                self.done.append(name)

    def join(self) -> None:
        for thread in self.threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def test_first_come_first_served():
    """While one works four others come; each gets its turn in that order, none beside another."""
    go = threading.Event()
    crew = Crew(Turns(longest_s=PATIENCE_S))
    crew.send("0", lambda: go.wait(PATIENCE_S))
    for name in "1234":
        crew.send(name)
    assert crew.done == []
    go.set()
    crew.join()
    assert crew.done == ["0", "1", "2", "3", "4"]
    assert crew.most_inside == 1


def test_a_long_run_holds_nobody_up():
    """After its time the next ones go on beside it, and it ends in peace."""
    go = threading.Event()
    crew = Crew(Turns(longest_s=0.05))
    begin = time.monotonic()
    crew.send("long", lambda: go.wait(PATIENCE_S))
    for name in "123":
        crew.send(name)
    for thread in crew.threads[1:]:
        thread.join(PATIENCE_S)
    assert crew.done == ["1", "2", "3"] and time.monotonic() - begin >= 0.05
    go.set()
    crew.join()
    assert crew.done == ["1", "2", "3", "long"] and crew.most_inside == 2


def test_an_overtaken_run_does_not_end_anothers_turn():
    """The long one ends while another has its turn: the third must still wait for the second."""
    first, second = threading.Event(), threading.Event()
    crew = Crew(Turns(longest_s=0.5))
    crew.send("long", lambda: first.wait(PATIENCE_S))
    crew.send("second", lambda: second.wait(PATIENCE_S))
    end = time.monotonic() + PATIENCE_S
    while crew.inside < 2:  # the second goes on beside the long one
        assert time.monotonic() < end
        time.sleep(0.001)
    first.set()
    crew.threads[0].join(PATIENCE_S)
    crew.send("third")
    assert crew.done == ["long"]
    second.set()
    crew.join()
    assert crew.done == ["long", "second", "third"]


def test_a_failing_run_gives_its_turn_back():
    """An exception, as Streamlit raises one to stop a script, ends the turn."""
    turns = Turns(longest_s=PATIENCE_S)
    with pytest.raises(ValueError), turns.one():
        raise ValueError
    begin = time.monotonic()
    with turns.one():
        assert time.monotonic() - begin < PATIENCE_S / 2
