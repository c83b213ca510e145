"""Keeps the workers of a host alive, each under the same id after every restart."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from core.errors import JobError
from gpu_worker.child import FIRST_PAUSE_S, Child, with_url
from gpu_worker.housekeeping import Housekeeper
from gpu_worker.worker import EXIT_ID_TAKEN

ROOT = Path(__file__).resolve().parents[1]
POLL_S = 0.1
STOP_WITHIN_S = 1.5
LONGEST_PAUSE_S = 30.0
STEADY_AFTER_S = 60.0


class Supervisor:
    """Starts the workers, restarts those that die, stops them all."""

    def __init__(self, url: str, children: Sequence[Child]) -> None:
        self._url = url
        self.children = list(children)
        self._housekeeper = Housekeeper(url, time.monotonic())

    def start(self, stopped: Callable[[], bool]) -> None:
        """Start all and wait until each is up. Raises JobError if one cannot come up."""
        for child in self.children:
            self._start(child)
        while not stopped() and not all(child.up.is_set() for child in self.children):
            for child in self.children:
                self._check_first_start(child)
            time.sleep(POLL_S)

    def step(self, now: float) -> None:
        """One pass: note the dead, start those whose pause is over. now: monotonic time [s]."""
        self._housekeeper.step(now)
        for child in self.children:
            if child.process is not None and child.process.poll() is not None:
                self._bury(child, now)
            if child.process is None and now >= child.next_start:
                self._start(child)

    def stop(self) -> None:
        """Ask all to end, and kill what has not ended in time."""
        self._housekeeper.stop()
        running = [c.process for c in self.children if c.process is not None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + STOP_WITHIN_S
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, child: Child) -> None:
        child.up.clear()
        child.started = time.monotonic()
        child.process = subprocess.Popen(
            [sys.executable, "-m", "gpu_worker", "--child", json.dumps(child.identity())],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=with_url(child.environment, self._url),
            start_new_session=True,
        )
        threading.Thread(target=_listen, args=(child.process, child.up), daemon=True).start()

    def _check_first_start(self, child: Child) -> None:
        code = child.process.poll() if child.process is not None else None
        if code is None or child.up.is_set():
            return
        if code == EXIT_ID_TAKEN:
            raise JobError(
                f"Another worker on this host already runs as {child.executor_id}; stop it, or "
                "start this one with another --name."
            )
        raise JobError(f"Worker {child.executor_id} could not start (exit code {code}).")

    def _bury(self, child: Child, now: float) -> None:
        assert child.process is not None
        steady = now - child.started > STEADY_AFTER_S
        child.pause_s = FIRST_PAUSE_S if steady else min(LONGEST_PAUSE_S, child.pause_s * 2)
        child.next_start = now + child.pause_s
        print(
            f"{child.executor_id} ended (exit code {child.process.returncode}); "
            f"starting it again in {child.pause_s:g} s",
            flush=True,
        )
        child.process = None


def _listen(process: subprocess.Popen[str], up: threading.Event) -> None:
    """Set `up` on the child's first line, and pass on what else it prints."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "up":
            up.set()
        else:
            print(line, end="", flush=True)
    process.stdout.close()
