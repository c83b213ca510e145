"""A worker that takes up a job again does not decode pickle in the job's finished steps."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.store.jobs import JobClient
from core.store.states import JobStatus
from tests.gpu_worker.conftest import StartWorker, slow_spec, start_worker, wait_for
from tests.reliability.test_pickled_rows import PICKLE, Engine, packed, rows

__all__ = ["rows", "start_worker"]


@pytest.mark.slow
def test_recovery_refuses_a_pickled_step(
    client: JobClient, rows: Engine, start_worker: StartWorker, tmp_path: Path
) -> None:
    """Two buckets are finished when the worker dies; a stranger makes one of them pickle. The job
    ends as failed, nothing of the payload runs, and the worker takes the next job."""
    proof = tmp_path / "executed"
    worker = start_worker()
    worker.ready()
    job_id = client.submit(slow_spec(1, 2, 4, 8))
    wait_for(client, job_id, lambda state: state.done == 2)
    worker.stop(signal.SIGKILL)

    steps = rows.table("operation_outputs")
    mine = (steps.c.workflow_uuid == job_id) & (steps.c.function_name == "measure_bucket")
    rows.write(sa.update(steps).where(mine).values(serialization=PICKLE, output=packed(proof)))
    start_worker().ready()
    next_id = client.submit(slow_spec(1))
    assert wait_for(client, next_id, lambda state: state.finished)[-1].status is JobStatus.DONE
    listed = {job.job_id: job for job in client.jobs()}
    assert listed[job_id].status is JobStatus.FAILED
    assert not proof.exists(), "the worker executed a pickled payload"
