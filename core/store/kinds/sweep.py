"""Sweeps: bucket sets under several loads, simulated. Each step is one set under one load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.records.session_json import parse_json
from core.records.sweep import Sweep, SweepRow
from core.serving.spec import (
    SweepPoint,
    SweepSpec,
    sweep_from_json,
    sweep_row_from_json,
    sweep_to_json,
)
from core.store.kinds.kind import Kind, Step, last_end_s, outputs
from core.store.states import JobState, JobStatus

POINT_STEP = "serve_point"
SIMULATE_QUEUE = "simulate"


@dataclass(frozen=True, kw_only=True)
class SweepJob(JobState):
    """One look at a sweep.

    workload : digest of the requests
    now : the run in flight; None when none is
    """

    spec: SweepSpec
    workload: str
    now: SweepPoint | None = None
    rows: tuple[SweepRow, ...] = ()

    def sweep(self) -> Sweep:
        """The rows so far."""
        return Sweep(self.rows)

    @property
    def title_text(self) -> str:
        spec = self.spec
        most = max(len(spec.sets_at(load)) for load in spec.loads)
        return f"Sweep of {most} sets under {len(spec.loads)} loads, {spec.num_requests:,} requests"

    @property
    def progress_text(self) -> str:
        return f"{self.done} of {self.total} runs served"

    @property
    def now_text(self) -> str | None:
        return f"serving {self.now.text}" if self.now else None

    @property
    def failures_text(self) -> str:
        failed = [row for row in self.rows if row.error]
        if not failed:
            return ""
        first = failed[0]
        reason = (first.error or "").rstrip(".")
        return f", {len(failed)} of them could not serve; {first.name} at x{first.load:g}: {reason}"


def _read(common: Mapping[str, Any], row: Mapping[str, Any], steps: Sequence[Step]) -> SweepJob:
    where = f"job {row['job_id']}"
    spec = sweep_from_json(parse_json(row["spec"], where), where)
    rows = tuple(sweep_row_from_json(output, where) for output in outputs(steps, POINT_STEP))
    points = spec.points
    running = common["status"] is JobStatus.RUNNING and len(rows) < len(points)
    return SweepJob(
        **common,
        done=len(rows),
        total=len(points),
        rows_at=last_end_s(steps, POINT_STEP),
        spec=spec,
        workload=row["workload"] or "",
        now=points[len(rows)] if running else None,
        rows=rows,
    )


SWEEP = Kind(
    name="sweep",
    protocol="sweep-1",
    workflow="sweep",
    queues=SIMULATE_QUEUE,
    spec=SweepSpec,
    to_json=sweep_to_json,
    read=_read,
    choose_queue=lambda speakers: SIMULATE_QUEUE,
    movable=False,
)
