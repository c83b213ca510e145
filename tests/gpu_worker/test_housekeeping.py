"""A supervisor deletes once a day what is past its time."""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa

from core.store.database import JOBS, make_engine
from core.store.jobs import JobClient
from core.store.prune import DAY_S
from gpu_worker.housekeeping import EVERY_S, Housekeeper
from gpu_worker.supervisor import Supervisor
from tests.gpu_worker.conftest import tiny_spec


def _ended_long_ago(client: JobClient) -> str:
    """A job that ended 31 days ago."""
    job_id = client.submit(tiny_spec(1))
    client.cancel(job_id)
    engine = make_engine(client.url)
    with engine.begin() as connection:
        past = JOBS.c.submitted_at - 31 * DAY_S
        connection.execute(sa.update(JOBS).values(submitted_at=past))
        change = "UPDATE workflow_status SET completed_at = completed_at - :ms"
        connection.execute(sa.text(change), {"ms": int(31 * DAY_S * 1000)})
    engine.dispose()
    return job_id


def _wait_until_gone(client: JobClient) -> None:
    deadline = time.monotonic() + 60
    while client.jobs():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_old_jobs_go_once_a_day(
    client: JobClient, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before its time; then what ended 31 days ago is gone, and the next look is a day
    later. The environment's setting holds."""
    _ended_long_ago(client)
    keeper = Housekeeper(url, now=0.0, first_after_s=60.0)
    keeper.step(59.0)
    assert keeper._process is None
    keeper.step(61.0)
    first = keeper._process
    assert first is not None
    _wait_until_gone(client)
    assert first.wait(60) == 0
    keeper.step(62.0)
    keeper.step(61.0 + EVERY_S - 1)
    assert keeper._process is None
    monkeypatch.setenv("BUCKETWISE_JOB_DAYS", "inf")
    kept = _ended_long_ago(client)
    keeper.step(61.0 + EVERY_S)
    assert keeper._process is not None and keeper._process.wait(60) == 0
    assert [job.job_id for job in client.jobs()] == [kept]
    keeper.stop()


def test_the_supervisor_keeps_house(client: JobClient, url: str) -> None:
    """Its own pass of work includes it, whatever its workers do."""
    _ended_long_ago(client)
    supervisor = Supervisor(url, [])
    supervisor.step(time.monotonic())
    assert client.jobs() != []
    supervisor.step(time.monotonic() + 100.0)
    _wait_until_gone(client)
    supervisor.stop()
