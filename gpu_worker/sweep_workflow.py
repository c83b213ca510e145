"""A sweep as the engine runs it: one step for each set and load, in the order of its points.

It needs neither torch nor a card. Changing the steps' names or order needs another protocol in
core.store.kinds.sweep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dbos import DBOS

from core.errors import JobError
from core.records import Trace
from core.records.plain import to_plain
from core.records.sweep import SweepRow
from core.serving.spec import SweepPoint, SweepSpec, sweep_from_json
from core.serving.sweep import serve_point
from core.store import job_table
from core.store.kinds.sweep import POINT_STEP, SWEEP
from gpu_worker.running import MAX_DEATHS, MAX_TRIES, RUNNING, Step, StepStoppedError


class Desk:
    """The sweep in work: its requests are read once a job, not once a point."""

    def __init__(self) -> None:
        self._digest = ""
        self._trace: Trace | None = None

    def requests(self, digest: str) -> Trace:
        """Raises JobError if they are gone or are none."""
        trace = self._trace
        if trace is None or self._digest != digest:
            trace = RUNNING.ask(lambda c: job_table.load_workload(c, digest)).trace
            self._trace, self._digest = trace, digest
        if trace is None:
            raise JobError("The workload of this sweep holds no requests to serve.")
        return trace

    def clear(self) -> None:
        """Give the memory back."""
        self._trace = None


DESK = Desk()
RUNNING.close = DESK.clear


@DBOS.step(name=POINT_STEP)
def serve_one(spec: dict[str, Any], workload: str, index: int) -> dict[str, Any]:
    """One row."""
    sweep = sweep_from_json(spec, "job")
    point = sweep.points[index]
    with RUNNING.step(f"point {index}", f"serving {point.text}") as step:
        if step.tries > MAX_TRIES:
            return to_plain(_given_up(point))
        trace = DESK.requests(workload)
        return to_plain(_served(step, trace, sweep, point))


def _served(step: Step, trace: Trace, sweep: SweepSpec, point: SweepPoint) -> SweepRow:
    must_stop = RUNNING.must_stop(step.job_id)

    def progress(share: float) -> None:
        RUNNING.doing = f"serving {point.text}, {100 * share:.0f} %"
        if must_stop():
            raise StepStoppedError

    return serve_point(trace, sweep, point, progress)


def _given_up(point: SweepPoint) -> SweepRow:
    row = SweepRow(point.set.name, point.set.sizes, point.load, 0.0, 0)
    error = f"Given up: the worker ended each of the {MAX_TRIES} times that this was tried."
    return replace(row, error=error)


@DBOS.workflow(name=SWEEP.workflow, max_recovery_attempts=MAX_DEATHS)
def sweep(spec: dict[str, Any], workload: str) -> dict[str, int]:
    """A job. Returns how many runs were served and how many sets could not be."""
    try:
        count = len(sweep_from_json(spec, "job").points)
        rows = [serve_one(spec, workload, index) for index in range(count)]
        failed = sum(row["error"] is not None for row in rows)
        return {"served": count - failed, "failed": failed}
    finally:
        RUNNING.end()
