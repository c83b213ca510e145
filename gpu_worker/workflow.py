"""A measurement as the engine runs it: open the device, then one step a bucket.

A step that ended is in the database and never runs again; a job that lost its worker goes on at
the next bucket. Changing the steps' names or order needs another protocol in
core.store.kinds.measure.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from dbos import DBOS

from core.errors import JobError
from core.records import (
    DeviceInfo,
    EngineFacts,
    MeasureRow,
    MeasureSpec,
    spec_from_json,
    to_json_dict,
)
from core.records.plain import to_plain
from core.store.kinds.measure import BUCKET_STEP, MEASURE, OPEN_STEP
from gpu_worker.driven.measuring import shaped
from gpu_worker.driven.session import EngineSession
from gpu_worker.running import MAX_DEATHS, MAX_TRIES, RUNNING, Step
from gpu_worker.session import Session, SessionEndedError

ENDED_WORKER = f"the worker ended each of the {MAX_TRIES} times that this was tried"


class Bench:
    """The measuring process of the current job; one job at a time, so one process."""

    def __init__(self) -> None:
        self._session: Session | EngineSession | None = None
        self._job_id = ""

    def session(self, job_id: str, spec: MeasureSpec) -> Session | EngineSession:
        """The session of this job; another job's is closed first."""
        if self._session is None or self._job_id != job_id:
            self.close()
            stop = RUNNING.must_stop(job_id)
            self._session = (
                EngineSession([shaped(spec)], stop) if spec.of_engine else Session(spec, stop)
            )
            self._job_id = job_id
        return self._session

    def close(self) -> None:
        """End the measuring process, and with it everything it holds on the card."""
        if self._session is not None:
            self._session.close()
        self._session = None


BENCH = Bench()
RUNNING.close = BENCH.close


@DBOS.step(name=OPEN_STEP)
def open_device(spec: dict[str, Any]) -> dict[str, Any]:
    """Load the model, or start the engine; the device as a record, with an engine's facts."""
    with RUNNING.step("open", "loading the model") as step:
        device, engine = _opened(step, spec)
        return asdict(device) | ({"engine": to_plain(engine)} if engine is not None else {})


@DBOS.step(name=BUCKET_STEP)
def measure_bucket(spec: dict[str, Any], size: int, captured: list[int]) -> dict[str, Any]:
    """One row. captured: sizes measured before, whose graphs share the pool."""
    with RUNNING.step(f"bucket {size}", f"measuring bucket {size}") as step:
        return to_json_dict(_measured(step, spec, size, captured))


def _opened(step: Step, spec: dict[str, Any]) -> tuple[DeviceInfo, EngineFacts | None]:
    """A measuring process that dies while it loads the model is tried again, twice at most."""
    if step.tries > MAX_TRIES:
        raise JobError(f"The model could not be loaded: {ENDED_WORKER}.")
    session = _session(step, spec)
    while True:
        try:
            device = session.open()
            return device, session.facts() if isinstance(session, EngineSession) else None
        except SessionEndedError as error:
            if not step.try_again():
                text = f"The model could not be loaded: {error}; tried {step.tries} times."
                raise JobError(text) from error


def _measured(step: Step, spec: dict[str, Any], size: int, captured: list[int]) -> MeasureRow:
    """A measuring process that dies is replaced, and the bucket tried again, twice at most."""
    if step.tries > MAX_TRIES:
        return MeasureRow(size, error=f"Given up: {ENDED_WORKER}.")
    session = _session(step, spec)
    while True:
        row = session.measure(size, captured)
        if not session.crashed:
            return row
        if not step.try_again():
            return replace(row, error=f"{row.error}; tried {step.tries} times")


@DBOS.workflow(name=MEASURE.workflow, max_recovery_attempts=MAX_DEATHS)
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
        RUNNING.end()


def _session(step: Step, spec: dict[str, Any]) -> Session | EngineSession:
    return BENCH.session(step.job_id, spec_from_json(spec, "job"))
