"""What the pages are told about jobs and workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from core.records import DeviceInfo, MeasureRow, MeasureSpec, Profile

LEASE_S = 15.0
"""A worker that has not reported for this long is taken for dead [s]; it reports every 2 s."""

STOPPED = "stopped"
"""What a worker that signed off is said to do."""


class JobStatus(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed out"
    LOST = "lost"


FINISHED = frozenset({JobStatus.DONE, JobStatus.FAILED, JobStatus.CANCELLED, JobStatus.TIMED_OUT})
"""States that a job never leaves. A lost job goes on when its worker comes back."""


@dataclass(frozen=True)
class JobState:
    """One look at a job.

    done, total : buckets with a row, buckets asked for
    now : the size being measured; None when none is
    rows : finished rows by ascending size, also of a job that was cancelled or failed
    message : one sentence: why it waits, what it does, what went wrong
    submitted_at, measured_at : Unix time [s]; measured_at is the last finished row's, or None
    """

    job_id: str
    status: JobStatus
    done: int
    total: int
    now: int | None
    rows: tuple[MeasureRow, ...]
    device: DeviceInfo | None
    message: str
    submitted_at: float
    measured_at: float | None
    queue: str
    spec: MeasureSpec

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    def profile(self) -> Profile | None:
        """Rows finished so far as a document; None before the first."""
        if self.device is None or self.measured_at is None:
            return None
        return Profile(self.device, self.spec, self.rows, iso_utc(self.measured_at))


@dataclass(frozen=True)
class WorkerInfo:
    """One worker as it last reported.

    seen_s_ago : seconds since then, by the database's clock
    doing : what it said it does, e.g. "idle" or "measuring bucket 8"
    """

    executor_id: str
    host: str
    pid: int
    device_kind: str
    device_name: str
    queue: str
    protocol: str
    started_at: float
    seen_at: float
    seen_s_ago: float
    doing: str

    @property
    def alive(self) -> bool:
        return self.seen_s_ago < LEASE_S and self.doing != STOPPED


def iso_utc(time_s: float) -> str:
    """Unix time [s] as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
