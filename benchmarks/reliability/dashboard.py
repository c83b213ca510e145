"""A Streamlit server under test: the dashboard, or a bare page to compare it with."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from benchmarks.reliability.processes import (
    DASHBOARD,
    ROOT,
    STREAMLIT,
    cpu_s,
    healthy,
    rss_bytes,
)
from core.store.database import URL_SETTING
from tests.app.conftest import free_port

START_WITHIN_S = 90.0
BARE = """
import plotly.graph_objects as go
import streamlit as st

n = st.number_input("n", 1, 100, 16, key="n")
bars = go.Bar(x=list(range(1024)), y=[i % n for i in range(1024)])
st.plotly_chart(go.Figure(bars, layout={"title": {"text": f"n = {n}"}}), key="chart")
"""


class Server:
    """Use as `with Server.dashboard() as server`. address : "http://127.0.0.1:PORT"."""

    def __init__(self, command: Sequence[str], folder: tempfile.TemporaryDirectory[str]) -> None:
        self._folder = folder
        self._port = free_port()
        self.address = f"http://127.0.0.1:{self._port}"
        self.log = Path(folder.name) / "server.log"
        settings = {URL_SETTING: f"sqlite:///{Path(folder.name) / 'bucketwise.sqlite'}"}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--server.port", str(self._port)],
                cwd=ROOT,
                env=os.environ | settings,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @classmethod
    def dashboard(cls) -> Server:
        return cls(DASHBOARD, tempfile.TemporaryDirectory(prefix="bucketwise-crowd-"))

    @classmethod
    def bare(cls) -> Server:
        """A page with one number and one chart of 1,024 bars."""
        folder = tempfile.TemporaryDirectory(prefix="bucketwise-bare-")
        script = Path(folder.name) / "bare.py"
        script.write_text(BARE)
        return cls([*STREAMLIT, str(script), "--server.headless", "true"], folder)

    def __enter__(self) -> Server:
        end = time.monotonic() + START_WITHIN_S
        while not healthy(self.address):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"The server did not start:\n{self.log.read_text()}")
            time.sleep(0.05)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    @property
    def rss_mib(self) -> float:
        """Raises RuntimeError if the server is no longer there."""
        if self._process.poll() is not None:
            raise RuntimeError(f"The server ended with code {self._process.returncode}.")
        return rss_bytes(self._process.pid) / 2**20

    @property
    def cpu_s(self) -> float:
        return cpu_s(self._process.pid)
