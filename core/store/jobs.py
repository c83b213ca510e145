"""Jobs as the dashboard sees them: sent, watched, cancelled, deleted; none runs here.

A job is a list of steps, each a row once it ended, which is kept whatever happens to the worker.
"""

from __future__ import annotations

import uuid
from typing import Any

from core.errors import JobError, SettingError
from core.readers.reading import Reading
from core.store import job_table
from core.store.database import default_database_url
from core.store.engine import database_answers, migrate
from core.store.job_rescue import JobRescue
from core.store.kinds import MEASURE, Kind, MeasureJob, SweepJob, kind_of
from core.store.states import JobState, JobStatus, QueueView, WorkerInfo

__all__ = [
    "JobClient",
    "JobState",
    "JobStatus",
    "MeasureJob",
    "QueueView",
    "SweepJob",
    "WorkerInfo",
    "default_database_url",
    "migrate",
]


class JobClient(JobRescue):
    """Sends jobs, and looks at them."""

    @database_answers()
    def submit(
        self,
        spec: Any,
        workload: Reading | None = None,
        *,
        queue: str | None = None,
        timeout_s: float | None = None,
        sent_by: str | None = None,
        session_id: str | None = None,
    ) -> str:
        """Queue a job; returns its id.

        spec : a MeasureSpec, or a SweepSpec with the requests as `workload`
        queue : None lets a live worker take it; of measuring workers a GPU before a CPU
        timeout_s : longest run, counted from its start [s]
        sent_by, session_id : for the queue page
        Raises SettingError if timeout_s is not positive, RecordError if the workload is too large.
        """
        kind, job_id = kind_of(spec), uuid.uuid4().hex
        options = _engine_options(kind, job_id, queue or self.best_queue(kind), timeout_s)
        record = kind.to_json(spec)
        blob = job_table.packed_workload(workload) if workload is not None else None
        with self._engine.begin() as connection:
            job_table.add_job(
                *(connection, record, blob),
                job_id=job_id,
                kind=kind.name,
                queue=options["queue_name"],
                queue_fixed=queue is not None,
                timeout_s=timeout_s,
                sent_by=sent_by,
                session_id=session_id,
            )
            arguments = (record,) if blob is None else (record, blob.digest)
            self._client.enqueue_in_transaction(connection, options, *arguments)
        return job_id

    def best_queue(self, kind: Kind = MEASURE) -> str:
        """Where a job of this kind is sent now."""
        return kind.choose_queue(kind.speakers(self.workers()))

    @database_answers()
    def cancel(self, job_id: str, by: str | None = None) -> None:
        """Stop a job, also in the middle of a step; finished rows stay.

        by : who asks; None may do anything
        Raises JobError if there is no such job, or somebody else sent it. A finished job is left
        as it is.
        """
        found = self._look(job_id)
        _check_sender(found, by)
        if found.finished:
            return
        with self._engine.begin() as connection:
            job_table.note_cancel(connection, job_id)
        self._client.cancel_workflow(job_id)

    @database_answers()
    def delete(self, job_id: str, by: str | None = None) -> None:
        """Forget a finished job and its rows.

        by : who asks; None may do anything
        Raises JobError if it has not ended, is not there, or somebody else sent it.
        """
        found = self._look(job_id)
        _check_sender(found, by)
        if not found.finished:
            raise JobError(f"Job {job_id} has not ended; cancel it first.")
        self._client.delete_workflow(job_id)
        with self._engine.begin() as connection:
            job_table.delete_job(connection, job_id)
        with self._lock:
            self._finished.pop(job_id, None)


def _engine_options(kind: Kind, job_id: str, queue: str, timeout_s: float | None) -> Any:
    """What the job engine is told beside the job. Raises SettingError."""
    options: Any = {
        "workflow_name": kind.workflow,
        "workflow_id": job_id,
        "queue_name": queue,
        "app_version": kind.protocol,
    }
    if timeout_s is None:
        return options
    if not timeout_s > 0:
        raise SettingError(f"timeout_s is {timeout_s}; it must be above 0.")
    return options | {"workflow_timeout": float(timeout_s)}


def _check_sender(job: JobState, by: str | None) -> None:
    if by is not None and not job.belongs_to(by):
        raise JobError(f"Job {job.job_id} was sent by somebody else; ask them to end it.")
