"""Real worker processes: a measuring job's whole life, and every way to lose a worker."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from dbos import DBOSClient

from core.records import Profile, profile_from_json, to_json_dict
from core.store.engine import engine_url
from core.store.jobs import JobClient
from core.store.kinds import MEASURE
from core.store.kinds.measure import CPU_QUEUE
from core.store.states import JobStatus
from tests.gpu_worker.conftest import (
    BOTH_DATABASES,
    STOPS_WITHIN_S,
    StartWorker,
    alive,
    children_of,
    endless_spec,
    finished,
    slow_spec,
    tiny_spec,
    wait_for,
)

pytestmark = BOTH_DATABASES


def test_a_job_from_queue_to_profile(
    client: JobClient, start_worker: StartWorker, url: str, tmp_path: Path
) -> None:
    """Rows arrive one by one, largest first; the CPU is labelled and nothing of a graph is
    claimed; a cancel in the middle of a bucket kills it; the worker then takes the next job; a
    pickled job is refused and runs nothing; and SIGTERM ends all within two seconds."""
    waiting = client.submit(tiny_spec(1, 2, 4))
    worker = start_worker()
    assert worker.ready().startswith("ready: 1 worker(s): here-cpu on measure.cpu")
    who = client.require_worker()
    assert (who.executor_id, who.device_kind, who.doing) == ("here-cpu", "cpu", "idle")

    looks = wait_for(client, waiting, finished)
    assert looks[-1].status is JobStatus.DONE and looks[-1].message == "3 of 3 buckets measured."
    assert [row.size for row in looks[-1].rows] == [1, 2, 4]
    sizes_in_flight = [look.now for look in looks if look.now]
    assert sizes_in_flight == sorted(sizes_in_flight, reverse=True)
    _check_cpu_profile(client.profile(waiting))

    _cancel_mid_bucket(client)
    _bad_spec_is_a_failed_job(client)
    _pickled_job_is_refused(client, url, tmp_path / "executed")

    assert worker.stop() < STOPS_WITHIN_S
    assert worker.process.returncode == 0
    assert [w.alive for w in client.workers()] == [False]


def _check_cpu_profile(profile: Profile | None) -> None:
    assert profile is not None
    assert profile.device.kind == "cpu" and profile.device.graphs_text == "unavailable"
    for row in profile.rows:
        assert row.error is None and row.eager_us is not None and row.eager_us > 0
        assert row.replay_us is None and row.capture_ms is None and row.pool_bytes is None
        assert row.equal is None and row.samples == 5
        assert row.eager_q1_us is not None and row.eager_q3_us is not None
        assert row.eager_q1_us <= row.eager_us <= row.eager_q3_us
    assert profile_from_json(to_json_dict(profile)) == profile


def _cancel_mid_bucket(client: JobClient) -> None:
    job_id = client.submit(endless_spec(1, 2))
    wait_for(client, job_id, lambda state: state.now == 2)
    client.cancel(job_id)
    state = client.state(job_id)
    assert state.status is JobStatus.CANCELLED
    assert state.message == "Cancelled by the user; 0 of 2 buckets measured."
    timed = client.submit(endless_spec(1), timeout_s=4.0)
    state = wait_for(client, timed, finished)[-1]
    assert state.status is JobStatus.TIMED_OUT
    assert state.message == "Timed out after 4 s; 0 of 1 buckets measured."


def _bad_spec_is_a_failed_job(client: JobClient) -> None:
    job_id = client.submit(tiny_spec(1, target="unheard-of"))
    state = wait_for(client, job_id, finished)[-1]
    assert state.status is JobStatus.FAILED
    assert "Target 'unheard-of' is unknown; use one of" in state.message


class Payload:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def _pickled_job_is_refused(client: JobClient, url: str, proof: Path) -> None:
    stranger = DBOSClient(system_database_url=engine_url(url))
    options = {
        "workflow_name": MEASURE.workflow,
        "queue_name": CPU_QUEUE,
        "workflow_id": "evil",
        "app_version": MEASURE.protocol,
    }
    stranger.enqueue(options, Payload(proof))  # pyright: ignore[reportArgumentType]
    stranger.destroy()
    deadline = time.monotonic() + 20
    status = "ENQUEUED"
    while status in ("ENQUEUED", "PENDING") and time.monotonic() < deadline:
        time.sleep(0.05)
        found = client._client.list_workflows(workflow_ids=["evil"], load_output=False)
        status = found[0].status
    assert status == "ERROR"
    assert not proof.exists(), "the worker executed a pickled payload"


@pytest.mark.slow
def test_kill_9_loses_at_most_the_bucket_in_flight(
    client: JobClient, start_worker: StartWorker
) -> None:
    """Killed while measuring, worker or supervisor: every finished bucket stays as it was, none
    is measured twice, and nothing that was started lives on."""
    worker = start_worker()
    worker.ready()
    job_id = client.submit(slow_spec(1, 2, 4, 8, 16))
    before = wait_for(client, job_id, lambda state: state.done == 1)[-1]
    first_pid = client.require_worker().pid
    measuring = children_of(first_pid)
    assert len(measuring) == 1
    os.kill(first_pid, signal.SIGKILL)

    middle = wait_for(client, job_id, lambda state: state.done == 3)[-1]
    assert all(row in middle.rows for row in before.rows)
    again = client.require_worker()
    assert again.executor_id == "here-cpu" and again.pid != first_pid
    assert not alive(measuring[0])
    second_pid = again.pid
    worker.stop(signal.SIGKILL)

    again = start_worker()
    again.ready()
    assert not alive(second_pid)
    after = wait_for(client, job_id, finished)[-1]
    assert after.status is JobStatus.DONE
    assert [row.size for row in after.rows] == [1, 2, 4, 8, 16]
    assert all(row in after.rows for row in middle.rows)
    steps = [step["function_name"] for step in client._client.list_workflow_steps(job_id)]
    assert steps == ["open_device"] + ["measure_bucket"] * 5


@pytest.mark.slow
def test_stopping_the_worker_keeps_its_job(client: JobClient, start_worker: StartWorker) -> None:
    """A second worker of the same name is refused, in one sentence. SIGTERM in the middle of a
    bucket records nothing for it; the next start goes on there."""
    worker = start_worker()
    worker.ready()
    twin = start_worker()
    assert twin.process.wait(60) == 2
    assert "already runs as here-cpu" in twin.ready()

    job_id = client.submit(slow_spec(1, 2, 4, 8))
    wait_for(client, job_id, lambda state: state.done == 1)
    assert worker.stop() < STOPS_WITHIN_S
    state = client.state(job_id)
    assert state.status is JobStatus.LOST
    assert "Worker here-cpu was stopped" in state.message
    start_worker()
    state = wait_for(client, job_id, finished)[-1]
    assert state.status is JobStatus.DONE
    assert [row.error for row in state.rows] == [None] * 4
