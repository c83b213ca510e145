"""kill -9 of a process that saves: no session is lost or half-written. On SQLite and Postgres."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.store.sessions import SessionStore
from tests.conftest import ROOT
from tests.core.store.postgres import TestServer


def _promised(log: Path) -> dict[tuple[str, str], tuple[int, str]]:
    """{(what, session id): the last number and note that a call came back with}."""
    promised = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        what, session_id, number, notes = line.split(" ", 3)
        promised[what, session_id] = (int(number), notes)
    return promised


def _assert_whole(store: SessionStore, log: Path, checked: set[str]) -> None:
    """Every session that is not in `checked` reads whole, with what was promised; adds them."""
    found = {info.session_id: info for info in store.list_for("ana")}
    assert checked <= set(found)
    for session_id in set(found) - checked:
        history = store.history(session_id, "ana")
        assert [e.version for e in history] == list(range(len(history), 0, -1))
        loaded = store.load(session_id, "ana")
        assert loaded.version == len(history)
        assert loaded.document.workload is not None
        for entry in history:
            store.load_version(session_id, entry.version, "ana")
        store.load_workload(session_id, "ana")
    for (what, session_id), (number, notes) in _promised(log).items():
        assert session_id in found
        if session_id in checked:
            continue
        if what == "comments":
            assert len(store.comments(session_id, "ana")) == number
        else:
            assert found[session_id].version >= number
            assert store.load_version(session_id, number, "ana").notes == notes
    checked |= set(found)


class Rounds:
    """A process that forks writers, and what was looked at so far."""

    def __init__(self, url: str, folder: Path, seed: int) -> None:
        self._draw, self._log = random.Random(seed), folder / "promised.log"
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.core.store.session_writer", url, str(self._log)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._store, self._child, self.checked = SessionStore(url), 0, set[str]()

    def __enter__(self) -> Rounds:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child:
            os.kill(self._child, signal.SIGKILL)
        self._parent.kill()
        self._parent.communicate()
        self._store.close()

    def run(self, until_second_call: bool, strike: Callable[[], None] | None = None) -> None:
        """One writer, killed at a random moment (after `strike`, if there is one), then a look."""
        before = self._size()
        assert self._parent.stdin is not None and self._parent.stdout is not None
        self._parent.stdin.write("go\n")
        self._parent.stdin.flush()
        self._child = int(self._parent.stdout.readline())
        deadline = time.monotonic() + 30.0
        while until_second_call and self._size() == before:
            assert time.monotonic() < deadline, "the writer writes nothing"
            time.sleep(0.01)
        time.sleep(self._draw.uniform(0.0, 0.3))
        if strike:
            strike()
        os.kill(self._child, signal.SIGKILL)
        self._child = 0
        _assert_whole(self._store, self._log, self.checked)

    def _size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    @property
    def calls(self) -> int:
        """How many calls came back."""
        return len(self._log.read_text().splitlines())


def test_a_killed_writer_leaves_no_half_session(url: str, tmp_path: Path) -> None:
    """Ten kills: every session reads whole, and every save that came back is there."""
    with Rounds(url, tmp_path, seed=1) as rounds:
        for number in range(10):
            rounds.run(until_second_call=number % 2 == 1)
        assert len(rounds.checked) >= 5 and rounds.calls >= 5


@pytest.mark.slow
def test_a_hundred_kills(url: str, tmp_path: Path) -> None:
    """The same, a hundred times."""
    with Rounds(url, tmp_path, seed=2) as rounds:
        for number in range(100):
            rounds.run(until_second_call=number % 2 == 1)
        assert len(rounds.checked) >= 50 and rounds.calls >= 50


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_killed_database_loses_nothing(tmp_path: Path) -> None:
    """kill -9 of Postgres while a session is saved: what was promised is there after its start."""
    server = TestServer(durable=True)
    try:
        if server.reason:
            pytest.skip(server.reason)
        with Rounds(server.fresh(), tmp_path, seed=3) as rounds:
            for number in range(6):
                rounds.run(until_second_call=number > 0, strike=server.kill)
            assert len(rounds.checked) >= 5 and rounds.calls >= 5
    finally:
        server.stop()
