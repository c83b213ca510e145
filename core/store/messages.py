"""One sentence on where a job stands, and what to do about it."""

from __future__ import annotations

from core.store.states import LEASE_S, STOPPED, JobState, JobStatus, WorkerInfo

START_HINT = "start one with `python -m gpu_worker`"


def message_of(
    state: JobState,
    workers: list[WorkerInfo],
    protocol: str,
    executor_id: str | None,
    error: str | None,
    timeout_s: float | None,
) -> str:
    """The sentence for a job.

    executor_id : worker that runs or ran it, None before the first
    error : what the engine recorded for a failed job
    """
    rows = f"{state.done} of {state.total} buckets measured"
    if state.status is JobStatus.WAITING:
        return _why_waiting(state, workers, protocol, rows)
    if state.status is JobStatus.RUNNING:
        if state.device is None:
            return f"{executor_id} is loading the model."
        now = f"; measuring bucket {state.now}" if state.now else ""
        return f"{rows}{now}, on {state.device.name}."
    if state.status is JobStatus.LOST:
        stopped = any(w.executor_id == executor_id and w.doing == STOPPED for w in workers)
        what = "was stopped" if stopped else f"has not reported for {LEASE_S:.0f} s or more"
        return (
            f"{rows}. Worker {executor_id} {what}; the job goes on at the next bucket when it is "
            "back or another of its kind takes over."
        )
    if state.status is JobStatus.CANCELLED:
        return f"Cancelled by the user; {rows}."
    if state.status is JobStatus.TIMED_OUT:
        limit = f" after {timeout_s:g} s" if timeout_s else ""
        return f"Timed out{limit}; {rows}."
    if state.status is JobStatus.FAILED:
        return f"Failed: {(error or 'no reason was recorded').rstrip('.')}; {rows}."
    return _done(state, rows)


def _done(state: JobState, rows: str) -> str:
    failed = [row for row in state.rows if row.error]
    if not failed:
        return f"{rows}."
    first = failed[0]
    return f"{rows}, {len(failed)} of them failed; bucket {first.size}: {first.error}."


def _why_waiting(state: JobState, workers: list[WorkerInfo], protocol: str, rows: str) -> str:
    live = [w for w in workers if w.alive]
    hearing = [w for w in live if w.queue == state.queue]
    speaking = [w for w in hearing if w.protocol == protocol]
    if speaking and state.done:
        return f"{rows}; waiting to go on after a worker was lost."
    if speaking and all(w.doing != "idle" for w in speaking):
        return f"Waiting: {speaking[0].executor_id} is busy ({speaking[0].doing})."
    if speaking:
        return f"Waiting for {speaking[0].executor_id} to take it."
    if hearing:
        return (
            f"Waiting: worker {hearing[0].executor_id} speaks protocol {hearing[0].protocol}, this "
            f"job {protocol}; update and restart the worker."
        )
    if live:
        return (
            f"Waiting: no worker is listening on queue {state.queue} "
            f"(there is one on {live[0].queue}); {START_HINT} there, or cancel and send it again."
        )
    return f"Waiting: no worker is listening; {START_HINT}."
