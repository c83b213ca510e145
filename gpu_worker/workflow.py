"""The job as the engine runs it: open the device, then one step a bucket.

A step that ended is in the database and never runs again; a job that lost its worker goes on at
the next bucket. Changing the steps' names or order needs another core.store.jobs.PROTOCOL.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from dbos import DBOS

from core.errors import JobError
from core.records import MeasureSpec, spec_from_json, to_json_dict
from core.store.jobs import BUCKET_STEP, OPEN_STEP, WORKFLOW
from gpu_worker.session import Session, SessionStoppedError

MAX_DEATHS = 5
"""A job whose worker died this often is given up. A crash while measuring does not count: it
ends the measuring process, not the worker."""
LOOK_EVERY_S = 0.25


class Bench:
    """What this worker is doing. One job at a time, so one measuring process."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.doing = "idle"
        self._session: Session | None = None
        self._job_id = ""

    def session(self, job_id: str, spec: MeasureSpec) -> Session:
        """The session of this job; another job's is closed first."""
        if self._session is None or self._job_id != job_id:
            self.close()
            self._session = Session(spec, self._stop_for(job_id))
            self._job_id = job_id
        return self._session

    def close(self) -> None:
        """End the measuring process, and with it everything it holds on the card."""
        if self._session is not None:
            self._session.close()
        self._session = None
        self.doing = "idle"

    def _stop_for(self, job_id: str) -> Callable[[], bool]:
        """Whether the job still is ours to run, asked at most four times a second."""
        asked, answer = 0.0, False

        def stop() -> bool:
            nonlocal asked, answer
            if self.stopping.is_set():
                return True
            if time.monotonic() - asked >= LOOK_EVERY_S:
                asked = time.monotonic()
                status = DBOS.get_workflow_status(job_id)
                # Cancelled, timed out, or handed to another worker after a false alarm.
                answer = status is None or status.status != "PENDING"
            return answer

        return stop


BENCH = Bench()


@DBOS.step(name=OPEN_STEP)
def open_device(spec: dict[str, Any]) -> dict[str, Any]:
    """Load the model; the device as a record."""
    with _Running("loading the model"):
        return asdict(_session(spec).open())


@DBOS.step(name=BUCKET_STEP)
def measure_bucket(spec: dict[str, Any], size: int, captured: list[int]) -> dict[str, Any]:
    """One row. captured: sizes measured before, whose graphs share the pool."""
    with _Running(f"measuring bucket {size}"):
        return to_json_dict(_session(spec).measure(size, captured))


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=MAX_DEATHS)
def measure(spec: dict[str, Any]) -> dict[str, int]:
    """A job. Returns how many buckets were measured and how many failed."""
    try:
        order = spec_from_json(spec, "job").measuring_order
        open_device(spec)
        captured: list[int] = []
        for size in order:
            row = measure_bucket(spec, size, captured)
            if row["error"] is None:
                captured.append(size)
        return {"measured": len(captured), "failed": len(order) - len(captured)}
    finally:
        BENCH.close()


def _session(spec: dict[str, Any]) -> Session:
    job_id = DBOS.workflow_id
    assert job_id is not None
    return BENCH.session(job_id, spec_from_json(spec, "job"))


class _Running:
    """Says what runs; turns a stop into silence (shutdown) or an error (cancelled)."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        BENCH.doing = self._doing

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, SessionStoppedError):
            return
        if BENCH.stopping.is_set():
            # Returning would record a step that never ended; the process is about to exit.
            threading.Event().wait()
        raise JobError("The job was stopped in the middle of a bucket.") from None
