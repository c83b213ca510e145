"""Two hosts on one database: what one loses, the other finishes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from core.store.jobs import JobClient
from core.store.states import LEASE_S, JobStatus
from tests.conftest import ROOT
from tests.gpu_worker.conftest import (
    BOTH_DATABASES,
    StartWorker,
    alive,
    children_of,
    finished,
    slow_spec,
    tiny_spec,
    wait_for,
)

pytestmark = [pytest.mark.slow, BOTH_DATABASES]

NOTICED_WITHIN_S = LEASE_S + 45.0
"""Lease, the next look, and the start of the process that gives the job back; on a busy machine."""


def test_a_peer_takes_over_a_lost_host_by_itself(
    client: JobClient, start_worker: StartWorker
) -> None:
    """kill -9 of a host's supervisor takes its workers along. Once its lease has run out the peer
    goes on by itself; finished buckets stay as they were, and none is measured twice."""
    hosts = {f"{name}-cpu": start_worker(name) for name in ("one", "two")}
    for host in hosts.values():
        host.ready()
    sizes = (1, 2, 4, 8, 16, 32)
    job_id = client.submit(slow_spec(*sizes))
    before = wait_for(client, job_id, lambda state: state.done == 1)[-1]
    assert before.worker is not None
    pid = next(w.pid for w in client.workers() if w.executor_id == before.worker)
    peer = next(name for name in hosts if name != before.worker)
    hosts[before.worker].stop(signal.SIGKILL)
    begin = time.monotonic()

    looks = wait_for(client, job_id, lambda state: state.worker == peer, NOTICED_WITHIN_S)
    assert time.monotonic() - begin > LEASE_S / 2, "the lease had not run out"
    lost = [look.message for look in looks if look.status is JobStatus.LOST]
    assert any(f"Worker {before.worker} has not reported for 15 s or more" in m for m in lost)
    assert not alive(pid)
    after = wait_for(client, job_id, finished)[-1]
    assert after.status is JobStatus.DONE
    assert [(row.size, row.error) for row in after.rows] == [(size, None) for size in sizes]
    assert all(row in after.rows for row in before.rows)
    steps = [step["function_name"] for step in client._client.list_workflow_steps(job_id)]
    assert steps == ["open_device"] + ["measure_bucket"] * len(sizes)


def test_the_command_takes_over_at_once(
    client: JobClient, start_worker: StartWorker, url: str
) -> None:
    """`python -m gpu_worker.takeover` need not wait for the lease; a live worker's jobs it leaves
    alone, and a job with rows waits for its kind of device rather than for any."""
    lost = start_worker("lost")
    lost.ready()
    command = [sys.executable, "-m", "gpu_worker.takeover", "--dead", "lost-cpu", "--url", url]
    refused = subprocess.run(command, cwd=ROOT, timeout=60, capture_output=True, text=True)
    assert refused.returncode == 1 and "lost-cpu is alive on this host" in refused.stderr
    job_id = client.submit(slow_spec(1, 2, 4, 8))
    before = wait_for(client, job_id, lambda state: state.done == 1)[-1]
    lost.stop(signal.SIGKILL)
    time.sleep(0.5)
    assert subprocess.run(command, cwd=ROOT, timeout=60).returncode == 0
    assert client.state(job_id).status is JobStatus.WAITING
    assert client.adopt_waiting("measure.nvidia-h200") == []
    start_worker("peer").ready()
    after = wait_for(client, job_id, finished)[-1]
    assert after.status is JobStatus.DONE and after.worker == "peer-cpu"
    assert all(row in after.rows for row in before.rows)


def test_a_bucket_that_ends_its_worker_is_given_up_after_two_retries(
    client: JobClient, start_worker: StartWorker
) -> None:
    """Three deaths in one bucket are a row with the reason; the job goes on with the next bucket.
    An end in good order in between counts for nothing."""
    spec = tiny_spec(1, 2, warmup=10**9)
    worker = start_worker()
    worker.ready()
    job_id = client.submit(spec)
    seen = set()
    for death in range(3):
        wait_for(client, job_id, lambda state: _pid(client) not in seen and state.now == 2)
        seen.add(_pid(client))
        if death == 1:
            time.sleep(1.0)  # the bucket has begun for certain
            worker.stop()
            worker = start_worker()
            worker.ready()
            wait_for(client, job_id, lambda state: _pid(client) not in seen and state.now == 2)
            seen.add(_pid(client))
        _kill_in_bucket(client)
    row = wait_for(client, job_id, lambda state: state.done == 1)[-1].rows[0]
    assert row.size == 2
    assert row.error == "Given up: the worker ended each of the 3 times that this was tried."
    client.cancel(job_id)


def _pid(client: JobClient) -> int | None:
    live = [w.pid for w in client.workers() if w.alive and alive(w.pid)]
    return live[0] if live else None


def _kill_in_bucket(client: JobClient) -> None:
    """kill -9 of the worker once its measuring process runs."""
    pid = _pid(client)
    assert pid is not None
    deadline = time.monotonic() + 60
    while not children_of(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1.0)
    os.kill(pid, signal.SIGKILL)
