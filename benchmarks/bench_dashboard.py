"""The dashboard: healthy, first chart, and a change of bucket set at 1,024 step sizes.

    python -m benchmarks.bench_dashboard

The baseline is a bare Streamlit page with one chart, in the same browser and the same run.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

from tests.app.conftest import CHROMIUM_FLAGS, free_port

ROOT = Path(__file__).resolve().parent.parent
BARE = """
import plotly.graph_objects as go, streamlit as st
n = st.number_input("n", 1, 100, 16)
with st.container(key="chart"):
    st.plotly_chart(go.Figure(go.Bar(x=list(range(1024)), y=[i % n for i in range(1024)])))
"""
CHANGES = 8


class Server:
    """A Streamlit script in a process of its own."""

    def __init__(self, script: Path, folder: Path) -> None:
        self.port = free_port()
        database = f"sqlite:///{folder / 'jobs.sqlite'}"
        command = [sys.executable, "-m", "streamlit", "run", str(script)]
        command += ["--server.port", str(self.port), "--server.headless", "true"]
        environment = os.environ | {"BUCKETWISE_DATABASE_URL": database}
        self.log = (folder / f"{self.port}.log").open("wb")
        begin = time.perf_counter()
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=self.log, stderr=subprocess.STDOUT
        )
        self.url = f"http://127.0.0.1:{self.port}"
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1)
                break
            except OSError:
                time.sleep(0.02)
        self.healthy_s = time.perf_counter() - begin

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


def drawn(page, key: str) -> None:
    page.wait_for_function(
        "key => document.querySelector(`.st-key-${key} .js-plotly-plot .bars .point`)", arg=key
    )


def signature(page, key: str) -> str:
    """Something that changes with the data of a chart."""
    return page.evaluate(
        """key => {
            const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
            return plot && plot._fullData ? JSON.stringify(plot._fullData.map(
                t => [t.name, Array.from(t.y || []).slice(0, 400)])) : "";
        }""",
        key,
    )


def change_times(page, key: str, label: str) -> list[float]:
    """Seconds from a new number to a chart with other data."""
    box = page.get_by_role("spinbutton", name=label)
    times = []
    for i in range(CHANGES):
        old = signature(page, key)
        box.fill(str(12 + i))
        begin = time.perf_counter()
        box.press("Enter")
        while signature(page, key) in (old, ""):
            if time.perf_counter() - begin > 20:
                raise RuntimeError(f"{label} = {12 + i} changed nothing in 20 s")
            time.sleep(0.01)
        times.append(time.perf_counter() - begin)
        page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
        page.wait_for_timeout(500)  # the page below the chart is still being drawn
    return times


def histogram_file(folder: Path) -> Path:
    """1,024 distinct step sizes."""
    rng = np.random.default_rng(0)
    lines = ["batch,count", *(f"{n},{int(rng.integers(1, 5000))}" for n in range(1, 1025))]
    path = folder / "steps.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def main() -> None:
    from playwright.sync_api import sync_playwright

    folder = Path(tempfile.mkdtemp())
    (folder / "bare.py").write_text(BARE)
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS
        )
        for name, script in (
            ("bare page", folder / "bare.py"),
            ("dashboard", ROOT / "app" / "server.py"),
        ):
            server = Server(script, folder)
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            page.set_default_timeout(60_000)
            begin = time.perf_counter()
            page.goto(f"{server.url}/?example=1")
            key, label = ("chart", "n") if name == "bare page" else ("steps", "")
            drawn(page, key)
            first = time.perf_counter() - begin
            if name == "dashboard":
                page.locator('input[type="file"]').set_input_files(str(histogram_file(folder)))
                page.get_by_text("1,024").first.wait_for()
                page.get_by_role("link", name="Buckets").first.click()
                key, label = "padding", "K, typed"
                drawn(page, key)
            changes = change_times(page, key, label)
            rows.append((name, server.healthy_s, first, statistics.median(changes), max(changes)))
            page.close()
            server.stop()
        browser.close()
    print("| page | healthy [s] | first chart [s] | change, median [s] | change, worst [s] |")
    print("| --- | --- | --- | --- | --- |")
    for name, *values in rows:
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |")


if __name__ == "__main__":
    main()
