"""Once a day: what is past its time is deleted from the database, by a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gpu_worker.child import with_url

ROOT = Path(__file__).resolve().parents[1]
FIRST_AFTER_S = 60.0
"""Not at once: the workers come up first."""
EVERY_S = 86_400.0


class Housekeeper:
    """Runs `python -m core.store prune`, whose settings are in the environment."""

    def __init__(self, url: str, now: float, first_after_s: float = FIRST_AFTER_S) -> None:
        """now : monotonic time [s]"""
        self._url = url
        self._next = now + first_after_s
        self._process: subprocess.Popen[bytes] | None = None

    def step(self, now: float) -> None:
        """Start it when it is time; several hosts may do so at once."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
        if self._process is None and now >= self._next:
            self._next = now + EVERY_S
            self._process = subprocess.Popen(
                [sys.executable, "-m", "core.store", "prune", "--quiet"],
                cwd=ROOT,
                env=with_url(os.environ, self._url),
                start_new_session=True,
            )

    def stop(self) -> None:
        """End it; what it has not deleted is deleted another day."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
