"""The sweep on the Serve page: here or as a job, and its rows outlive the page."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
import streamlit as st

from app.serving import sweep_view
from core.example.reading import example_reading
from core.records.sweep import Sweep
from core.serving.sweep import sweep
from core.store.jobs import JobClient, JobStatus
from tests.app.apptest import figure, numbers, open_app, texts, to_page
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("own_database")


def press(at, key: str):
    at.button(key=key).click().run()
    assert not at.exception and not at.error, (at.exception, [e.value for e in at.error])
    return at


def open_serve(loads=(1.0,), **query: str):
    at = open_app("serve.py", example="1", **query)
    at.get("button_group")  # the pills are drawn
    at.session_state["sweep_loads"] = list(loads)
    at.run()
    return at


def lines(at) -> dict[str, list[float]]:
    """{load: its figures by ascending number of graphs} of the chart."""
    data = figure(at, "by number of graphs")["data"]
    return {t["name"]: numbers(t["y"]) for t in data if t["name"].startswith("load")}


def expected(job_or_rows: Sweep, load: float) -> list[float | None]:
    rows = sorted(job_or_rows.at(load), key=lambda row: row.num_graphs)
    return [row.tpot_p50_ms for row in rows]


def progress(at) -> str:
    return " ".join(bar.proto.text for bar in at.get("progress")).replace("\\", "")


def until(at, text: str, seconds: float = 120.0) -> None:
    """Draw the page again until a progress bar says so."""
    deadline = time.monotonic() + seconds
    while text not in progress(at):
        assert time.monotonic() < deadline, progress(at)
        time.sleep(0.3)
        at.run()
        assert not at.exception, at.exception


@pytest.fixture
def simulator() -> Iterator[Callable[[], None]]:
    """Starts a worker that runs sweeps; it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def start() -> None:
        command = [sys.executable, "-m", "gpu_worker", "--devices", "none", "--name", "here"]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        started.append(worker)
        assert worker.stdout is not None
        assert worker.stdout.readline().startswith("ready: 1 worker(s): here-sim on simulate")

    yield start
    for worker in started:
        worker.terminate()
        worker.wait(20)
        assert worker.stdout is not None
        worker.stdout.close()


def test_a_short_sweep_runs_on_the_page():
    """The chart shows core's own numbers, and the best set for the traffic is named."""
    at = press(open_serve(), "sweep")
    _, spec, rows = at.session_state["bucketwise"].values["swept"]
    assert spec.loads == (1.0,) and len(rows) == len(spec.points)
    trace = example_reading().trace
    assert trace is not None and Sweep(tuple(rows)) == sweep(trace, spec)
    assert lines(at) == {"load x1": expected(Sweep(tuple(rows)), 1.0)}
    best = Sweep(tuple(rows)).best_serving(1.0)
    assert f"Best set for this traffic at load x1: {best.num_graphs} graphs" in texts(at)
    assert f"{best.kv_tokens:,} KV tokens left" in texts(at)


def test_the_sets_of_a_load_are_those_for_its_own_steps():
    """At four times the load steps are larger than any at load 1: the best sets hold them, so that
    no more than 1 % run eager, and graphs are not said to bring nothing."""
    at = press(open_serve((1.0, 4.0)), "sweep")
    _, spec, rows = at.session_state["bucketwise"].values["swept"]
    largest = {load: max(n for s in spec.sets_at(load) for n in s.sizes) for load in spec.loads}
    assert largest[4.0] > largest[1.0]
    found = Sweep(tuple(rows))
    trace = example_reading().trace
    assert trace is not None and found == sweep(trace, spec)
    graphs = [row for row in found.at(4.0) if row.num_graphs]
    assert all(row.decode_steps and row.eager_share <= 0.01 for row in graphs)
    assert found.best_serving(4.0).num_graphs
    assert "Load x4: no graphs at all" not in texts(at)


def test_rows_that_are_done_stay_and_are_not_made_again():
    """A run that was cut short goes on where it was; rows of other settings are said to be so."""
    at = press(open_serve(), "sweep")
    values = at.session_state["bucketwise"].values
    key, spec, rows = values["swept"]
    values["swept"] = (key, spec, rows[:2])
    at.run()
    assert "so far" in texts(at) and f"So far of 2 of {len(rows)} sets" in texts(at)
    kept = rows[1]
    press(at, "sweep")
    again = at.session_state["bucketwise"].values["swept"][2]
    assert again == rows and again[1] is kept
    at.number_input(key="kv_tokens").set_value(90_000).run()
    assert any("other settings" in i.value for i in at.info)
    assert lines(at)["load x1"] == expected(Sweep(tuple(rows)), 1.0)


def test_a_long_sweep_is_offered_as_a_job(monkeypatch: pytest.MonkeyPatch):
    """Its length is told beforehand, and the main button sends it."""
    at = open_serve()
    assert (at.button(key="sweep").label, at.button(key="sweep_as_job").label) == (
        *("Run the sweep", "Run it as a job"),
    )
    assert "runs of 2,000 requests, about 1 s" in texts(at)
    monkeypatch.setattr(sweep_view, "LONG_S", 0.5)
    at.run()
    assert (at.button(key="sweep").label, at.button(key="sweep_as_job").label) == (
        *("Run it here", "Run the sweep as a job"),
    )


def test_a_job_without_a_worker_says_so_and_can_be_cancelled():
    """The page names what is missing; after Cancel nothing waits."""
    at = press(open_serve(), "sweep_as_job")
    assert "no worker is listening on queue simulate" in progress(at)
    press(at, "cancel_sweep_job")
    at.run()
    assert "Job cancelled. Cancelled by the user" in progress(at)


def test_a_jobs_rows_outlive_page_and_dashboard(simulator: Callable[[], None]):
    """Sent, left, come back to, the dashboard started anew and opened by its address: the rows
    are those of the sweep in one process; the Queue page tells of it too."""
    at = press(open_serve((1.0, 2.0)), "sweep_as_job")
    job_id = at.session_state["bucketwise"].values["sweep_job"]
    to_page(at, "buckets.py")
    simulator()
    to_page(at, "serve.py")
    until(at, "Job done.")
    address = at.query_params["sweep"]
    assert job_id in (address, *address)

    client = JobClient(os.environ["BUCKETWISE_DATABASE_URL"])
    job = client.sweep(job_id)
    client.close()
    trace = example_reading().trace
    assert job.status is JobStatus.DONE and trace is not None
    assert job.sweep() == sweep(trace, job.spec)
    drawn = {f"load x{load:g}": expected(job.sweep(), load) for load in (1.0, 2.0)}
    assert lines(at) == drawn
    assert not any("other settings" in i.value for i in at.info)

    st.cache_resource.clear()  # a dashboard that was started anew holds nothing
    other = open_app("serve.py", example="1", sweep=job_id)
    assert lines(other) == drawn
    assert any("other settings" in i.value for i in other.info), "there all four loads are chosen"
    bare = open_app("serve.py", sweep=job_id)
    assert lines(bare) == drawn, "without its traffic, too"
    queue = open_app("queue.py")
    assert f"{job.total} of {job.total} runs served" in texts(queue)
    row = next(f.value for f in queue.dataframe if "worker" in f.value.columns).iloc[0]
    assert (row["worker"], row["queue"]) == ("here-sim", "simulate")


def test_a_sweep_that_is_gone_is_one_sentence():
    """A link to a job that was deleted says so once, and the page works on."""
    at = open_app("serve.py", example="1", sweep="nothing-here")
    assert [e.value.replace("\\", "") for e in at.error] == [
        "There is no job 'nothing-here'; it may have been deleted."
    ]
    at.run()
    assert not at.error


def test_a_kept_session_names_its_sweep():
    """The job is among the session's, so that no tidying up deletes it, and comes back with it."""
    from app.sessions import current as sessions

    at = press(open_serve(), "sweep_as_job")
    job_id = at.session_state["bucketwise"].values["sweep_job"]
    to_page(at, "sessions.py")
    next(b for b in at.button if b.label == "Keep this work as a session").click().run()
    session_id = at.session_state["bucketwise"].open_id
    assert sessions.store().load(session_id, "local").document.jobs == (job_id,)
    other = open_app("serve.py", session=session_id)
    assert "no worker is listening on queue simulate" in progress(other)
    assert other.session_state["bucketwise"].job_id is None
