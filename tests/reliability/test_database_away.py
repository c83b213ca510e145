"""A database that does not answer is one sentence for whoever asks about jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from benchmarks.reliability.job_tasks import MEASUREMENT, SWEEP, send
from core.errors import JobError
from core.store.database import JOBS, WORKERS, make_engine
from core.store.jobs import JobClient
from core.store.prune import prune

ID = "0" * 32
CALLS: dict[str, Callable[[JobClient], Any]] = {
    "send a measurement": lambda client: send(MEASUREMENT, client),
    "send a sweep": lambda client: send(SWEEP, client),
    "state": lambda client: client.state(ID),
    "profile": lambda client: client.profile(ID),
    "jobs": lambda client: client.jobs(),
    "queue": lambda client: client.queue(),
    "workers": lambda client: client.workers(),
    "require a worker": lambda client: client.require_worker(),
    "cancel": lambda client: client.cancel(ID),
    "delete": lambda client: client.delete(ID),
    "adopt": lambda client: client.adopt_waiting("measure.cpu"),
    "stranded": lambda client: client.stranded("measure.cpu"),
}


@pytest.fixture
def away(client: JobClient, url: str) -> JobClient:
    """A client whose database has lost its tables: no call can be answered."""
    engine = make_engine(url)
    with engine.begin() as connection:
        for table in (JOBS, WORKERS):
            connection.execute(sa.text(f"ALTER TABLE {table.name} RENAME TO {table.name}_away"))
    engine.dispose()
    return client


@pytest.mark.parametrize("what", CALLS)
def test_every_call_says_so(away: JobClient, what: str):
    """What happened, and the way out; in one line."""
    with pytest.raises(JobError, match="^The job database did not answer: .*Try again[.]$"):
        CALLS[what](away)


def test_tidying_says_so_before_it_begins(away: JobClient, url: str):
    """The daily deletion ends in a sentence, which its supervisor prints."""
    with pytest.raises(JobError, match="job database"):
        prune(url)
