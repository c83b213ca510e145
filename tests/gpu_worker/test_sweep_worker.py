"""A sweep through the queue: a worker without torch, a row a point, and every way to stop it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.example.trace import example_trace
from core.readers.reading import Reading
from core.records import BucketSet, Grade, Trace
from core.serving.spec import SweepSpec, sweep_sets
from core.serving.sweep import sweep
from core.simulate import Machine
from core.step_cost import assumed_graph_memory, assumed_step_cost
from core.store.database import JOBS, make_engine
from core.store.jobs import JobClient
from core.store.states import JobStatus
from core.store.tables import BLOBS
from tests.gpu_worker.conftest import (
    BOTH_DATABASES,
    STOPS_WITHIN_S,
    StartWorker,
    finished,
    wait_for,
)

pytestmark = [pytest.mark.slow, BOTH_DATABASES]

TRACE = example_trace(num_requests=400)
SETS = (None, BucketSet("few", (8, 64)), BucketSet("many", (1, 2, 4, 8, 16, 32, 64)))
KV_BYTES_PER_TOKEN = 131_072.0


def reading_of(trace: Trace) -> Reading:
    return Reading("requests", "Requests", Grade.REQUESTS, len(trace), len(trace), trace=trace)


def spec_of(trace: Trace, loads: tuple[float, ...], sets=SETS) -> SweepSpec:
    return SweepSpec(
        *(Machine(80_000), assumed_step_cost(), assumed_graph_memory(), KV_BYTES_PER_TOKEN),
        *(sweep_sets(sets), len(trace)),
        loads=loads,
        ttft_limit_s=1.0,
    )


def endless() -> tuple[SweepSpec, Reading]:
    """One point that takes most of a minute: fewer requests than what is compiled."""
    trace = example_trace(num_requests=90_000)
    return spec_of(trace, (1.0,), SETS[:1]), reading_of(trace)


def test_a_sweep_from_queue_to_rows(
    client: JobClient, start_worker: StartWorker, url: str, tmp_path: Path
) -> None:
    """Rows come one by one and are those of a sweep in this process; the worker loads no torch; a
    cancel and a time-out act within a point; a job whose requests are gone says so."""
    spec = spec_of(TRACE, (1.0, 4.0))
    job_id = client.submit(spec, reading_of(TRACE), sent_by="ana", session_id="s")
    assert "no worker is listening on queue simulate" in client.state(job_id).message
    worker = start_worker(devices="none", simulate=True)
    assert worker.ready().startswith("ready: 1 worker(s): here-sim on simulate")

    looks = wait_for(client, job_id, finished)
    assert [look.done for look in looks] == sorted(look.done for look in looks)
    done = client.sweep(job_id)
    assert done.status is JobStatus.DONE and done.message == "6 of 6 runs served."
    assert done.rows == sweep(TRACE, spec).rows
    assert (done.sent_by, done.session_id, done.worker) == ("ana", "s", "here-sim")
    assert done.spec == spec

    pid = next(w.pid for w in client.workers())
    assert "torch" not in Path(f"/proc/{pid}/maps").read_text()
    _requests_are_gone(client, url)
    _stops_within_a_point(client)
    assert worker.stop() < STOPS_WITHIN_S


def _requests_are_gone(client: JobClient, url: str) -> None:
    other = example_trace(num_requests=50)
    job_id = client.submit(spec_of(other, (1.0,)), reading_of(other), queue="nowhere")
    engine = make_engine(url)
    with engine.begin() as connection:
        digest = connection.execute(
            sa.select(JOBS.c.workload).where(JOBS.c.job_id == job_id)
        ).scalar_one()
        connection.execute(sa.update(JOBS).where(JOBS.c.job_id == job_id).values(workload=None))
        connection.execute(sa.delete(BLOBS).where(BLOBS.c.digest == digest))
    engine.dispose()
    client._client.resume_workflow(job_id, queue_name="simulate")
    state = wait_for(client, job_id, finished)[-1]
    assert state.status is JobStatus.FAILED
    assert f"The requests {digest[:12]} of this job are no longer in the database" in state.message


def _stops_within_a_point(client: JobClient) -> None:
    spec, reading = endless()
    job_id = client.submit(spec, reading)
    _wait_doing(client, "%")
    client.cancel(job_id)
    assert client.state(job_id).message == "Cancelled by the user; 0 of 1 runs served."
    _wait_doing(client, "idle")
    timed = client.submit(spec, reading, timeout_s=2.0)
    state = wait_for(client, timed, finished)[-1]
    assert state.status is JobStatus.TIMED_OUT
    assert state.message == "Timed out after 2 s; 0 of 1 runs served."
    _wait_doing(client, "idle")


def _wait_doing(client: JobClient, text: str) -> None:
    """Until the worker says that it does this; it says so every two seconds."""
    deadline = time.monotonic() + 60
    while text not in client.workers()[0].doing:
        assert time.monotonic() < deadline, client.workers()[0].doing
        time.sleep(0.1)


def test_kill_9_loses_at_most_the_point_in_flight(
    client: JobClient, start_worker: StartWorker
) -> None:
    """The worker killed, then its supervisor: rows stay as they were, none is there twice, and
    the whole is what a sweep without any trouble gives."""
    trace = example_trace(num_requests=3000)
    spec = spec_of(trace, (0.5, 1.0, 2.0, 4.0))
    worker = start_worker(devices="none", simulate=True)
    worker.ready()
    job_id = client.submit(spec, reading_of(trace))
    before = wait_for(client, job_id, lambda state: state.done == 2)[-1]
    os.kill(client.workers()[0].pid, signal.SIGKILL)
    middle = wait_for(client, job_id, lambda state: state.done == 5)[-1]
    assert middle.rows[:2] == before.rows
    worker.stop(signal.SIGKILL)
    start_worker(devices="none", simulate=True).ready()
    after = wait_for(client, job_id, finished)[-1]
    assert after.status is JobStatus.DONE and after.rows[:5] == middle.rows[:5]
    assert after.rows == sweep(trace, spec).rows
    steps = [step["function_name"] for step in client._client.list_workflow_steps(job_id)]
    assert steps == ["serve_point"] * 12
