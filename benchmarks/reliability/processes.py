"""Processes of this host: their children, what they use, and services that are started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESTART_PAUSE_S = 0.2
STREAMLIT = (sys.executable, "-m", "streamlit", "run")
DASHBOARD = (*STREAMLIT, "app/server.py", "--server.headless", "true")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    """Process ids of direct children; none for a process that is gone."""
    try:
        texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(part) for text in texts for part in text.split()]


def command_of(pid: int) -> str:
    """The command line; "" for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def rss_bytes(pid: int) -> int:
    """Memory that the process holds [bytes]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_s(pid: int) -> float:
    """CPU time that the process has used, user and system [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def kill_9(pid: int) -> bool:
    """False if it was gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def healthy(address: str) -> bool:
    """Whether a Streamlit server answers."""
    try:
        urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
    except OSError:
        return False
    return True


class Service:
    """A process that is started again whenever it ends, as a service manager would do it."""

    def __init__(self, command: Sequence[str], log: Path, settings: Mapping[str, str]) -> None:
        self._command, self._settings = list(command), dict(settings)
        self._log = log.open("ab")
        self._stopping = threading.Event()
        self.starts = 0
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    @property
    def pid(self) -> int:
        """Of the process that runs now, or ran last."""
        return self._process.pid

    def kill(self) -> bool:
        """kill -9; False if it was not running at this moment."""
        return kill_9(self.pid)

    def stop(self) -> None:
        """End it for good."""
        self._stopping.set()
        self._keeper.join()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        return subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=os.environ | self._settings,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def _keep(self) -> None:
        while not self._stopping.wait(0.02):
            if self._process.poll() is not None:
                time.sleep(RESTART_PAUSE_S)
                self._process = self._start()
