"""Submit a measurement and ask for its state; the only file in app that knows where jobs live."""

from __future__ import annotations

import streamlit as st

from core.records import MeasureSpec, Profile
from core.store.jobs import JobClient, JobState, WorkerInfo, default_database_url, migrate


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


def job_state(job_id: str) -> JobState:
    return _client().state(job_id)


def cancel(job_id: str) -> None:
    _client().cancel(job_id)


def recent(limit: int = 10) -> list[JobState]:
    return _client().jobs(limit)


def workers() -> list[WorkerInfo]:
    return _client().workers()


def job_profile(job_id: str) -> Profile | None:
    """The rows measured so far as a Profile; None before the first."""
    return _client().profile(job_id)
