"""A job whose thread ended without a word is taken up again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from core.store.database import make_engine
from core.store.jobs import JobClient
from core.store.states import IDLE, JobStatus
from gpu_worker.orphan import LOOKS, OrphanWatch
from tests.core.store.postgres import TestServer
from tests.gpu_worker.conftest import (
    BOTH_DATABASES,
    StartWorker,
    WorkerProcess,
    finished,
    slow_spec,
    tiny_spec,
    wait_for,
)

AWAY_S = 4.0


def test_only_a_job_that_is_held_and_not_worked_at_is_one() -> None:
    """As many looks in a row as it takes; work, or no job, begins anew."""
    watch = OrphanWatch()
    assert [watch.look(IDLE, True) for _ in range(LOOKS)] == [False] * (LOOKS - 1) + [True]
    watch = OrphanWatch()
    for doing, holds_job in (("measuring bucket 8", True), (IDLE, False)):
        assert not any(watch.look(IDLE, True) for _ in range(LOOKS - 1))
        assert not watch.look(doing, holds_job)


@pytest.mark.slow
@BOTH_DATABASES
def test_an_orphan_is_taken_up(client: JobClient, start_worker: StartWorker, url: str) -> None:
    """A job that the engine counts as running, under an idle worker that knows nothing of it:
    the worker starts again, and the job is done."""
    worker = start_worker()
    worker.ready()
    pid = client.require_worker().pid
    first = client.submit(slow_spec(1, 2))
    second = client.submit(tiny_spec(1, 2))  # waits: one job at a time
    wait_for(client, first, lambda state: state.done == 1)
    engine = make_engine(url)
    table = "workflow_status" if engine.dialect.name == "sqlite" else "dbos.workflow_status"
    statement = f"UPDATE {table} SET status='PENDING', executor_id='here-cpu' WHERE "
    with engine.begin() as connection:
        connection.execute(sa.text(statement + "workflow_uuid = :job"), {"job": second})
    engine.dispose()

    assert wait_for(client, second, finished)[-1].status is JobStatus.DONE
    assert wait_for(client, first, finished)[-1].status is JobStatus.DONE
    assert client.require_worker().pid != pid


@pytest.fixture
def durable() -> Iterator[TestServer]:
    """A server that may be killed: no other test uses it."""
    server = TestServer(durable=True)
    if server.reason:
        pytest.skip(server.reason)
    yield server
    server.stop()


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_job_outlasts_its_database(durable: TestServer) -> None:
    """kill -9 of a server that stays away for a while with a bucket in flight: the same worker
    goes on when it is back, no bucket is lost or measured twice."""
    url = durable.fresh()
    worker, client = WorkerProcess(url, "here", "cpu", simulate=False), JobClient(url)
    try:
        worker.ready()
        job_id = client.submit(slow_spec(1, 2, 4, 8))
        wait_for(client, job_id, lambda state: state.done == 1)
        before = client.measurement(job_id)
        pid = client.require_worker().pid
        durable.kill(AWAY_S)
        wait_for(client, job_id, finished)
        after = client.measurement(job_id)
        assert after.status is JobStatus.DONE
        assert [(row.size, row.error) for row in after.rows] == [(n, None) for n in (1, 2, 4, 8)]
        assert all(row in after.rows for row in before.rows)
        assert client.require_worker().pid == pid
    finally:
        client.close()
        worker.end()
