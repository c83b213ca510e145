"""One sentence on where a job stands and what to do about it, and what the queue lacks."""

from __future__ import annotations

from collections.abc import Sequence

from core.store.states import IDLE, LEASE_S, STOPPED, JobState, JobStatus, WorkerInfo

START_HINT = "start one with `python -m gpu_worker`"


def message_of(state: JobState, workers: Sequence[WorkerInfo]) -> str:
    """The sentence for a job."""
    rows = state.progress_text
    if state.status is JobStatus.WAITING:
        return _why_waiting(state, workers)
    if state.status is JobStatus.RUNNING:
        if not state.done and state.now_text:
            return f"{state.worker} is {state.now_text}."
        now = f"; {state.now_text}" if state.now_text else ""
        return f"{rows}{now}, {state.place_text}."
    if state.status is JobStatus.LOST:
        return f"{rows}. {_lost_text(state, workers)}"
    if state.status is JobStatus.CANCELLED:
        return f"Cancelled by the user; {rows}."
    if state.status is JobStatus.TIMED_OUT:
        limit = f" after {state.timeout_s:g} s" if state.timeout_s else ""
        return f"Timed out{limit}; {rows}."
    if state.status is JobStatus.FAILED:
        return f"Failed: {(state.error or 'no reason was recorded').rstrip('.')}; {rows}."
    return f"{rows}{state.failures_text}."


def missing_texts(jobs: Sequence[JobState], workers: Sequence[WorkerInfo]) -> tuple[str, ...]:
    """What keeps jobs from running, one sentence each, with the way out; empty if nothing does."""
    found: dict[str, int] = {}
    for job in jobs:
        if job.status is JobStatus.WAITING:
            text = _nobody_takes(job, workers)
            if text is not None:
                found[text] = found.get(text, 0) + 1
    return tuple(
        f"{count} job{'s wait' if count > 1 else ' waits'}: {text}" for text, count in found.items()
    )


def _lost_text(state: JobState, workers: Sequence[WorkerInfo]) -> str:
    mine = [w for w in workers if w.executor_id == state.worker]
    stopped = any(w.doing == STOPPED for w in mine)
    what = "was stopped" if stopped else f"has not reported for {LEASE_S:.0f} s or more"
    return (
        f"Worker {state.worker} {what}; the job goes on at the next step when it is back or "
        "another of its kind takes over."
    )


def _why_waiting(state: JobState, workers: Sequence[WorkerInfo]) -> str:
    nobody = _nobody_takes(state, workers)
    if nobody is not None:
        return f"Waiting: {nobody}"
    takers = _takers(state, workers)
    if state.done:
        return f"{state.progress_text}; waiting to go on after a worker was lost."
    if all(w.doing != IDLE for w in takers):
        return f"Waiting: {takers[0].executor_id} is busy ({takers[0].doing})."
    return f"Waiting for {takers[0].executor_id} to take it."


def _takers(state: JobState, workers: Sequence[WorkerInfo]) -> list[WorkerInfo]:
    hearing = [w for w in workers if w.alive and w.queue == state.queue]
    return [w for w in hearing if w.protocol == state.protocol]


def _nobody_takes(state: JobState, workers: Sequence[WorkerInfo]) -> str | None:
    """Why no live worker will ever take it; None if one will."""
    live = [w for w in workers if w.alive]
    hearing = [w for w in live if w.queue == state.queue]
    if _takers(state, workers):
        return None
    if hearing:
        return (
            f"worker {hearing[0].executor_id} speaks protocol {hearing[0].protocol}, the job "
            f"{state.protocol}; {_older(state, hearing[0])}."
        )
    if not live:
        return f"no worker is listening on queue {state.queue}; {START_HINT}."
    there = ", ".join(sorted({w.queue for w in live}))
    return (
        f"no worker is listening on queue {state.queue} (only on {there}); {START_HINT} there, or "
        "cancel the job and send it again."
    )


def _older(state: JobState, worker: WorkerInfo) -> str:
    """Which of the two has to change; protocols end in a number."""
    if _number(worker.protocol) < _number(state.protocol):
        return "update and restart the worker"
    return "cancel the job and send it again"


def _number(protocol: str) -> int:
    digits = protocol.rsplit("-", 1)[-1]
    return int(digits) if digits.isdecimal() else 0
