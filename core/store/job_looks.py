"""Jobs and workers, looked at: where each stands, with its rows, and what the queue lacks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import exc

from core.errors import JobError, NoWorkerError, ProjectError
from core.records import Profile
from core.store import job_table
from core.store import workers as heartbeats
from core.store.database import JOBS, default_database_url, make_engine, now_s
from core.store.engine import database_answers, engine_client, error_of, status_of
from core.store.kinds import KINDS, MEASURE, Kind, MeasureJob, SweepJob, kind_named
from core.store.messages import message_of, missing_texts
from core.store.states import JobState, JobStatus, QueueView, UnreadableJob, WorkerInfo

if TYPE_CHECKING:
    from dbos import WorkflowStatus

REMEMBERED = 256
"""Finished jobs that a client keeps, for they never change."""


class JobLooks:
    """Looks at jobs. Safe to share between threads; no call waits for a worker.

    Every call raises JobError where the database does not answer.
    """

    def __init__(self, url: str | None = None) -> None:
        """Raises JobError if the tables are not there yet."""
        self.url = url or default_database_url()
        self._engine = make_engine(self.url)
        self._check_tables()
        self._client = engine_client(self.url)
        self._finished: dict[str, JobState] = {}
        self._lock = threading.Lock()

    def _check_tables(self) -> None:
        try:
            there = sa.inspect(self._engine).has_table(JOBS.name)
        except exc.SQLAlchemyError as error:
            raise JobError(f"The job database cannot be read: {error.args[0]}.") from error
        if not there:
            raise JobError(
                "The job database has no tables yet; run `python -m core.store migrate` once."
            )

    def close(self) -> None:
        """Give the database connections back."""
        self._client.destroy()
        self._engine.dispose()

    @database_answers()
    def state(self, job_id: str) -> JobState:
        """One look, a few milliseconds.

        Raises JobError if there is no such job, RecordError if its record cannot be read.
        """
        with self._lock:
            if job_id in self._finished:
                return self._finished[job_id]
        with self._engine.connect() as connection:
            row = job_table.find_job(connection, job_id)
        return self._read(row, self._engine_rows([job_id]).get(job_id), self.workers())

    def measurement(self, job_id: str) -> MeasureJob:
        """The same of a measurement. Raises JobError if it is another kind of job."""
        found = self.state(job_id)
        if not isinstance(found, MeasureJob):
            raise JobError(f"Job {job_id} is a {found.kind}, no measurement.")
        return found

    def sweep(self, job_id: str) -> SweepJob:
        """The same of a sweep. Raises JobError if it is another kind of job."""
        found = self.state(job_id)
        if not isinstance(found, SweepJob):
            raise JobError(f"Job {job_id} is a {found.kind}, no sweep.")
        return found

    def profile(self, job_id: str) -> Profile | None:
        """Rows that a measurement has so far, as a document; None before the first."""
        return self.measurement(job_id).profile()

    @database_answers()
    def jobs(
        self, limit: int = 20, kind: str | None = None, sent_by: str | None = None
    ) -> list[JobState]:
        """The newest jobs first, those that cannot be read too. sent_by : None is anybody."""
        with self._engine.connect() as connection:
            rows = job_table.newest_jobs(connection, limit, kind, sent_by)
        return self._states(rows, self.workers())

    @database_answers()
    def queue(self, limit: int = 50) -> QueueView:
        """One look at all workers, every job that has not ended and the newest that have, with
        what is missing in words."""
        active = self._client.list_workflows(
            status=["ENQUEUED", "DELAYED", "PENDING"], load_input=False, load_output=False
        )
        with self._engine.connect() as connection:
            rows = job_table.queued_jobs(connection, [a.workflow_id for a in active], limit)
            now = now_s(connection)
        workers = self.workers()
        states = self._states(rows, workers)
        return QueueView(tuple(workers), tuple(states), missing_texts(states, workers), now)

    @database_answers()
    def workers(self, kind: Kind | None = None) -> list[WorkerInfo]:
        """Every worker that reported and is remembered, live ones first. kind : for jobs of it."""
        found = heartbeats.read_workers(self._engine)
        return [w for w in found if kind is None or w.queue.startswith(kind.queues)]

    def require_worker(self, kind: Kind = MEASURE) -> WorkerInfo:
        """A live worker for this kind. Raises NoWorkerError with the way to start one."""
        found = kind.speakers(self.workers())
        if not found:
            raise NoWorkerError("No worker is listening; start one with `python -m gpu_worker`.")
        return found[0]

    def _states(
        self, rows: Sequence[Mapping[str, Any]], workers: list[WorkerInfo]
    ) -> list[JobState]:
        with self._lock:
            known = dict(self._finished)
        found = self._engine_rows([r["job_id"] for r in rows if r["job_id"] not in known])
        states = []
        for row in rows:
            job_id = row["job_id"]
            if job_id not in known:
                try:
                    known[job_id] = self._read(row, found.get(job_id), workers)
                except ProjectError as error:
                    known[job_id] = self._unreadable(row, found.get(job_id), workers, error)
            states.append(known[job_id])
        return states

    def _engine_rows(self, job_ids: list[str]) -> dict[str, WorkflowStatus]:
        if not job_ids:
            return {}
        found = self._client.list_workflows(
            workflow_ids=job_ids, load_input=False, load_output=False
        )
        return {row.workflow_id: row for row in found}

    def _look(self, job_id: str) -> JobState:
        """Where a job stands, whether or not its record can be read."""
        with self._engine.connect() as connection:
            row = job_table.find_job(connection, job_id)
        return self._states([row], self.workers())[0]

    def _read(
        self, row: Mapping[str, Any], found: WorkflowStatus | None, workers: list[WorkerInfo]
    ) -> JobState:
        kind = kind_named(row["kind"])
        steps = self._client.list_workflow_steps(row["job_id"])
        common = _common(row, found, workers)
        if common["status"] is JobStatus.FAILED:
            common["error"] = error_of(self._client, row["job_id"])
        state = kind.read(common, row, steps)
        state = replace(state, message=message_of(state, workers))
        if state.finished:
            self._remember(state)
        return state

    def _unreadable(
        self,
        row: Mapping[str, Any],
        found: WorkflowStatus | None,
        workers: list[WorkerInfo],
        error: ProjectError,
    ) -> JobState:
        return UnreadableJob(**_common(row, found, workers), message=str(error))

    def _remember(self, state: JobState) -> None:
        with self._lock:
            self._finished[state.job_id] = state
            while len(self._finished) > REMEMBERED:
                self._finished.pop(next(iter(self._finished)))


def _common(
    row: Mapping[str, Any], found: WorkflowStatus | None, workers: Sequence[WorkerInfo]
) -> dict[str, Any]:
    """What the states of all kinds share."""
    kind = KINDS.get(row["kind"])
    return {
        **{key: row[key] for key in ("job_id", "kind", "queue", "submitted_at", "timeout_s")},
        **{key: row[key] for key in ("sent_by", "session_id")},
        "status": status_of(found, row["cancelled_at"] is not None, workers),
        "protocol": (found.app_version if found else None) or (kind.protocol if kind else ""),
        "worker": found.executor_id if found else None,
        "started_at": _seconds(found.dequeued_at) if found else None,
        "ended_at": _seconds(found.completed_at) if found else None,
    }


def _seconds(epoch_ms: int | None) -> float | None:
    return None if epoch_ms is None else epoch_ms / 1000
