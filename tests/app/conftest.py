"""A running dashboard with a real worker, and a real browser to look at it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

START_TIMEOUT_S = 90
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def chromium() -> str:
    """Path of the browser; skips, or fails where the browser is required."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = os.environ.get("BUCKETWISE_CHROMIUM") or shutil.which(name)
        if path:
            return path
    reason = "no Chromium on this machine (apt-get install chromium)"
    if os.environ.get("BUCKETWISE_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test sees the jobs and sessions of another, or of the developer."""
    import streamlit as st

    monkeypatch.setenv("BUCKETWISE_DATABASE_URL", f"sqlite:///{tmp_path / 'bucketwise.sqlite'}")
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`make run`'s own launcher, dashboard and worker, on a fresh database; the address."""
    chromium()
    folder = tmp_path_factory.mktemp("server")
    port = free_port()
    environment = os.environ | {
        "BUCKETWISE_DATABASE_URL": f"sqlite:///{folder / 'jobs.sqlite'}",
        "PYTHONWARNINGS": "default",
    }
    log = (folder / "server.log").open("wb")
    command = [sys.executable, "scripts/run_local.py", "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_healthy(address, process, folder / "server.log")
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        log.close()


def wait_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"not healthy in {START_TIMEOUT_S} s:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for the whole session."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        yield instance
        instance.close()
