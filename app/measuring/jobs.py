"""Send jobs and ask for their state; the only file in app that knows where jobs live."""

from __future__ import annotations

import streamlit as st

from app import state
from app.web import identity
from core.readers.reading import Reading
from core.records import MeasureSpec
from core.serving.spec import SweepSpec
from core.store.jobs import (
    JobClient,
    JobState,
    MeasureJob,
    QueueView,
    SweepJob,
    WorkerInfo,
    default_database_url,
    migrate,
)
from core.store.kinds import MEASURE


@st.cache_resource(show_spinner="Opening the database …")
def prepared_url() -> str:
    """The database's address, its tables made if they are missing. Raises JobError."""
    url = default_database_url()
    migrate(url)
    return url


@st.cache_resource(show_spinner="Opening the job queue …")
def _client() -> JobClient:
    """One client a server process."""
    return JobClient(prepared_url())


def submit(spec: MeasureSpec, queue: str | None = None) -> str:
    """Raises JobError when the queue refuses."""
    session_id = state.session().open_id
    return _client().submit(spec, queue=queue, sent_by=_me(), session_id=session_id)


def submit_sweep(spec: SweepSpec, requests: Reading) -> str:
    """Raises JobError, or RecordError where the requests are too many to send."""
    session_id = state.session().open_id
    return _client().submit(spec, requests, sent_by=_me(), session_id=session_id)


def job_state(job_id: str) -> MeasureJob:
    """Raises JobError if there is no such measurement."""
    return _client().measurement(job_id)


def sweep_state(job_id: str) -> SweepJob:
    """Raises JobError if there is no such sweep."""
    return _client().sweep(job_id)


def cancel(job_id: str) -> None:
    """Raises JobError if it is gone, or somebody else sent it."""
    _client().cancel(job_id, by=_me())


def delete(job_id: str) -> None:
    """Raises JobError if it is gone, has not ended, or somebody else sent it."""
    _client().delete(job_id, by=_me())


def may_change(job: JobState) -> bool:
    """Whether this browser's person may cancel and delete the job."""
    return job.belongs_to(_me())


def recent_measurement() -> str | None:
    """Id of the newest measurement that this browser's person sent; None before the first."""
    found = _client().jobs(1, MEASURE.name, sent_by=_me())
    return found[0].job_id if found else None


def workers() -> list[WorkerInfo]:
    """Those that measure."""
    return _client().workers(MEASURE)


def queue() -> QueueView:
    """All workers and the newest jobs of every kind."""
    return _client().queue()


def _me() -> str:
    return identity.current().who
