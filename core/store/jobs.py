"""Measuring jobs as the dashboard sees them; the only file in core that knows the job engine.

One job is one list of buckets. Its steps are `open_device` and then `measure_bucket` for every
size, largest first; a step that ended is kept, whatever happens to the worker.
"""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import exc

from core.errors import JobError, NoWorkerError, SettingError
from core.records import (
    DeviceInfo,
    MeasureRow,
    MeasureSpec,
    Profile,
    row_from_json,
    spec_from_json,
    to_json_dict,
)
from core.store import workers as heartbeats
from core.store.database import (
    JOBS,
    checked_url,
    default_database_url,
    make_engine,
    now_s,
)
from core.store.messages import message_of
from core.store.migrate import migrate_tables
from core.store.states import JobState, JobStatus, WorkerInfo

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus

__all__ = ["JobClient", "JobState", "JobStatus", "WorkerInfo", "default_database_url", "migrate"]

PROTOCOL = "measure-1"
"""Version of the job's steps and records. Raise it when a step is added, removed or reordered:
a worker only takes jobs of its own protocol."""

APPLICATION = "bucketwise"
WORKFLOW = "measure"
OPEN_STEP = "open_device"
BUCKET_STEP = "measure_bucket"
CPU_QUEUE = "measure.cpu"


def queue_name(device_kind: str) -> str:
    """The queue of a device kind, e.g. "measure.nvidia-h200"."""
    return f"measure.{device_kind}"


class PickleRefusedError(JobError):
    """A row in the database holds pickled Python; it is never decoded."""


def refuse_pickle() -> None:
    """Make the job engine refuse pickled rows in this process.

    The engine picks the decoder by the row's own column, whatever serializer was set: without
    this, whoever can write to the database could run code here.
    """
    from dbos import _serialization

    def refuse(_self: Any, _text: str) -> Any:
        raise PickleRefusedError("A pickled row was refused: jobs and rows are JSON only.")

    setattr(_serialization.DefaultSerializer, "deserialize", refuse)  # noqa: B010


def engine_url(url: str) -> str:
    """The URL as the job engine wants it, password included."""
    return checked_url(url).render_as_string(hide_password=False)


def migrate(url: str) -> None:
    """Create or update all tables; harmless to repeat.

    Raises SettingError (a URL of another kind, or a database that a newer version has written) or
    JobError (the database cannot be reached).
    """
    refuse_pickle()
    from dbos import DBOS

    parsed = checked_url(url)
    try:
        DBOS.migrate(engine_url(url))
        migrate_tables(url)
    except (exc.SQLAlchemyError, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise JobError(
            f"Database {parsed.render_as_string()} cannot be opened: {reason}. "
            "Check the address and that it may be written to."
        ) from error


class JobClient:
    """Sends jobs and looks at them. Safe to share between threads; no call waits for a worker."""

    def __init__(self, url: str | None = None) -> None:
        """Raises JobError if the tables are not there yet."""
        refuse_pickle()
        from dbos import DBOSClient, DBOSPortableJSONSerializer

        self.url = url or default_database_url()
        self._engine = make_engine(self.url)
        self._check_tables()
        self._client: DBOSClient = DBOSClient(
            system_database_url=engine_url(self.url),
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
        )
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

    # Sending -------------------------------------------------------------------------------

    def submit(
        self, spec: MeasureSpec, *, queue: str | None = None, timeout_s: float | None = None
    ) -> str:
        """Queue a measurement; returns the job's id.

        queue : None lets a live worker take it, a GPU before a CPU
        timeout_s : longest run, counted from its start [s]
        Raises SettingError if timeout_s is not positive.
        """
        if timeout_s is not None and not timeout_s > 0:
            raise SettingError(f"timeout_s is {timeout_s}; it must be above 0.")
        job_id = uuid.uuid4().hex
        record = to_json_dict(spec)
        options: Any = {
            "workflow_name": WORKFLOW,
            "workflow_id": job_id,
            "queue_name": queue or self.best_queue(),
            "app_version": PROTOCOL,
        }
        if timeout_s is not None:
            options["workflow_timeout"] = float(timeout_s)
        with self._engine.begin() as connection:
            connection.execute(
                sa.insert(JOBS).values(
                    job_id=job_id,
                    spec=json.dumps(record),
                    queue=options["queue_name"],
                    queue_fixed=queue is not None,
                    timeout_s=timeout_s,
                    submitted_at=now_s(connection),
                )
            )
            self._client.enqueue_in_transaction(connection, options, record)
        return job_id

    def best_queue(self) -> str:
        """Queue of a live worker of our protocol, idle GPUs first; the CPU's when none lives."""
        live = [w for w in self.workers() if w.alive and w.protocol == PROTOCOL]
        live.sort(key=lambda w: (w.queue == CPU_QUEUE, w.doing != "idle"))
        return live[0].queue if live else CPU_QUEUE

    def cancel(self, job_id: str) -> None:
        """Stop a job, also in the middle of a bucket; finished rows stay.

        Raises JobError if there is no such job. A finished job is left as it is.
        """
        if self.state(job_id).finished:
            return
        with self._engine.begin() as connection:
            connection.execute(
                sa.update(JOBS)
                .where(JOBS.c.job_id == job_id)
                .values(cancelled_at=now_s(connection))
            )
        self._client.cancel_workflow(job_id)

    def adopt_waiting(self, queue: str) -> list[str]:
        """Move waiting jobs that may run anywhere, and whose queue nobody hears, to `queue`.

        Returns their ids. A worker calls this so that a job sent before any worker was up is
        not stranded on the queue of another device kind.
        """
        heard = {w.queue for w in self.workers() if w.alive and w.protocol == PROTOCOL} | {queue}
        waiting = {
            w.workflow_id: w.queue_name
            for w in self._client.list_workflows(
                status=["ENQUEUED"], app_version=PROTOCOL, load_input=False, load_output=False
            )
            if w.queue_name not in heard
        }
        return [job_id for job_id, old in waiting.items() if self._adopt(job_id, old, queue)]

    def _adopt(self, job_id: str, old: str | None, queue: str) -> bool:
        with self._engine.begin() as connection:
            # The condition on the old queue lets one of several eager workers win.
            mine = connection.execute(
                sa.update(JOBS)
                .where(JOBS.c.job_id == job_id, JOBS.c.queue == old, ~JOBS.c.queue_fixed)
                .values(queue=queue)
            ).rowcount
        if mine:
            self._client.resume_workflow(job_id, queue_name=queue)
        return bool(mine)

    def stranded(self, queue: str) -> list[str]:
        """Ids of dead workers of this queue that still hold running jobs."""
        live = {w.executor_id for w in self.workers() if w.alive}
        running = self._client.list_workflows(
            status=["PENDING"],
            queue_name=queue,
            app_version=PROTOCOL,
            load_input=False,
            load_output=False,
        )
        return sorted({w.executor_id for w in running if w.executor_id} - live)

    # Looking -------------------------------------------------------------------------------

    def state(self, job_id: str) -> JobState:
        """One look, a few milliseconds. Raises JobError if there is no such job."""
        with self._lock:
            if job_id in self._finished:
                return self._finished[job_id]
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(JOBS).where(JOBS.c.job_id == job_id)).mappings()
            found = row.one_or_none()
        if found is None:
            raise JobError(f"There is no job {job_id!r}; it may have been deleted.")
        return self._look(dict(found), self.workers())

    def jobs(self, limit: int = 20) -> list[JobState]:
        """The newest jobs first."""
        statement = sa.select(JOBS).order_by(JOBS.c.submitted_at.desc()).limit(limit)
        with self._engine.connect() as connection:
            rows = [dict(row) for row in connection.execute(statement).mappings()]
        workers = self.workers()
        return [self._finished.get(row["job_id"]) or self._look(row, workers) for row in rows]

    def workers(self) -> list[WorkerInfo]:
        """Every worker that ever reported and did not sign off, live ones first."""
        return heartbeats.read_workers(self._engine)

    def profile(self, job_id: str) -> Profile | None:
        """Rows finished so far as a document; None before the first."""
        return self.state(job_id).profile()

    def delete(self, job_id: str) -> None:
        """Forget a finished job and its rows. Raises JobError if it has not ended."""
        if not self.state(job_id).finished:
            raise JobError(f"Job {job_id} has not ended; cancel it first.")
        self._client.delete_workflow(job_id)
        with self._engine.begin() as connection:
            connection.execute(sa.delete(JOBS).where(JOBS.c.job_id == job_id))
        with self._lock:
            self._finished.pop(job_id, None)

    def require_worker(self) -> WorkerInfo:
        """A live worker of our protocol. Raises NoWorkerError with the way to start one."""
        for worker in self.workers():
            if worker.alive and worker.protocol == PROTOCOL:
                return worker
        raise NoWorkerError("No worker is listening; start one with `python -m gpu_worker`.")

    def _look(self, row: dict[str, Any], workers: list[WorkerInfo]) -> JobState:
        job_id = row["job_id"]
        spec = spec_from_json(json.loads(row["spec"]), f"job {job_id}")
        found = self._client.list_workflows(
            workflow_ids=[job_id], load_input=False, load_output=False
        )
        engine_row = found[0] if found else None
        device, rows, measured_at = self._steps(job_id)
        status = _status(engine_row, row["cancelled_at"] is not None, workers)
        measured = {r.size for r in rows}
        left = [size for size in spec.measuring_order if size not in measured]
        running = status is JobStatus.RUNNING
        state = JobState(
            job_id=job_id,
            status=status,
            done=len(rows),
            total=len(spec.sizes),
            now=left[0] if running and left and device is not None else None,
            rows=rows,
            device=device,
            message="",
            submitted_at=row["submitted_at"],
            measured_at=measured_at,
            queue=row["queue"],
            spec=spec,
        )
        executor = engine_row.executor_id if engine_row else None
        error = self._error(job_id) if status is JobStatus.FAILED else None
        message = message_of(state, workers, PROTOCOL, executor, error, row["timeout_s"])
        state = replace(state, message=message)
        if state.finished:
            self._remember(state)
        return state

    def _remember(self, state: JobState) -> None:
        with self._lock:
            self._finished[state.job_id] = state
            while len(self._finished) > 256:
                self._finished.pop(next(iter(self._finished)))

    def _steps(self, job_id: str) -> tuple[DeviceInfo | None, tuple[MeasureRow, ...], float | None]:
        """Device, rows by ascending size and the time of the last one [s]."""
        device, rows, last = None, [], None
        for step in self._client.list_workflow_steps(job_id):
            output = step["output"]
            if output is None:
                continue
            if step["function_name"] == OPEN_STEP:
                device = DeviceInfo(**output)
            elif step["function_name"] == BUCKET_STEP:
                rows.append(row_from_json(output, f"job {job_id}"))
                ended = step["completed_at_epoch_ms"]
                last = ended / 1000 if ended else last
        return device, tuple(sorted(rows, key=lambda r: r.size)), last

    def _error(self, job_id: str) -> str:
        try:
            found = self._client.list_workflows(workflow_ids=[job_id], load_input=False)
        except PickleRefusedError as error:
            return str(error)
        error = found[0].error if found else None
        return str(error) if error else "it ended without a reason"


def _status(row: WorkflowStatus | None, by_user: bool, workers: list[WorkerInfo]) -> JobStatus:
    if row is None:
        return JobStatus.FAILED
    if row.status in ("ENQUEUED", "DELAYED"):
        return JobStatus.WAITING
    if row.status == "SUCCESS":
        return JobStatus.DONE
    if row.status == "CANCELLED":
        return JobStatus.CANCELLED if by_user else JobStatus.TIMED_OUT
    if row.status == "PENDING":
        alive = any(w.alive and w.executor_id == row.executor_id for w in workers)
        return JobStatus.RUNNING if alive else JobStatus.LOST
    return JobStatus.FAILED
