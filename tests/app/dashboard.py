"""A dashboard of its own for a test: the real server process, on a fresh database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.app.conftest import free_port, wait_healthy
from tests.conftest import ROOT


@contextmanager
def dashboard(
    folder: Path, settings: Mapping[str, str] | None = None, port: int | None = None
) -> Iterator[str]:
    """The server without a worker; its address. settings : further environment variables."""
    port = port or free_port()
    environment = os.environ | {
        "BUCKETWISE_DATABASE_URL": f"sqlite:///{folder / 'sessions.sqlite'}",
        "PYTHONPATH": str(ROOT),
        **(settings or {}),
    }
    command = [sys.executable, "-m", "streamlit", "run", "app/server.py"]
    command += ["--server.port", str(port), "--server.headless", "true"]
    log = folder / "dashboard.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_healthy(address, process, log)
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
