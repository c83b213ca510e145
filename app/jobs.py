"""Submit a measurement and ask for its state; the only file in app that knows where jobs live."""

from __future__ import annotations

import streamlit as st

from core.records import MeasureSpec, Profile
from core.store.jobs import JobClient, MeasureJob, WorkerInfo, default_database_url, migrate
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
    return _client().submit(spec, queue=queue)


def job_state(job_id: str) -> MeasureJob:
    """Raises JobError if there is no such measurement."""
    return _client().measurement(job_id)


def cancel(job_id: str) -> None:
    _client().cancel(job_id)


def recent_measurement() -> str | None:
    """Id of the newest measurement; None before the first."""
    found = _client().jobs(1, MEASURE.name)
    return found[0].job_id if found else None


def workers() -> list[WorkerInfo]:
    """Those that measure."""
    return _client().workers(MEASURE)


def job_profile(job_id: str) -> Profile | None:
    """The rows measured so far as a Profile; None before the first."""
    return _client().profile(job_id)
