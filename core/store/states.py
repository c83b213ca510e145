"""What the pages are told about jobs of every kind, and about workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

LEASE_S = 15.0
"""A worker that has not reported for this long is taken for dead [s]; it reports every 2 s."""

STOPPED = "stopped"
"""What a worker that signed off is said to do."""

IDLE = "idle"
"""What a worker without a job is said to do."""


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


@dataclass(frozen=True, kw_only=True)
class JobState:
    """One look at a job.

    kind : "measure" or "sweep"
    done, total : steps with a row, steps asked for
    message : one sentence: why it waits, what it does, what went wrong
    protocol : which version of the kind's steps and records it speaks
    worker : id of the worker that runs or ran it last; None before the first
    submitted_at, started_at, rows_at, ended_at : Unix time [s]; None until then. rows_at is the
        last finished row's
    sent_by, session_id : who sent it and from which tuning session; None where unknown
    error : what the engine recorded for a failed job
    """

    job_id: str
    kind: str
    status: JobStatus
    submitted_at: float
    queue: str
    done: int = 0
    total: int = 0
    message: str = ""
    protocol: str = ""
    worker: str | None = None
    started_at: float | None = None
    rows_at: float | None = None
    ended_at: float | None = None
    timeout_s: float | None = None
    sent_by: str | None = None
    session_id: str | None = None
    error: str | None = None

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    def belongs_to(self, who: str) -> bool:
        """Whether this person may cancel and delete it: the sender, anybody where none is known."""
        return self.sent_by in (None, who)

    @property
    def title_text(self) -> str:
        """What was asked for, in a few words."""
        return f"Job of kind {self.kind}"

    @property
    def share(self) -> float:
        """Of the steps, 0 to 1."""
        return self.done / self.total if self.total else 0.0

    @property
    def progress_text(self) -> str:
        """How far it is, e.g. "3 of 5 buckets measured"."""
        return f"{self.done} of {self.total} steps"

    @property
    def now_text(self) -> str | None:
        """The step in flight, e.g. "measuring bucket 8"; None when none is."""
        return None

    @property
    def place_text(self) -> str:
        """Where it runs, for a sentence."""
        return f"on {self.worker}"

    @property
    def failures_text(self) -> str:
        """What to say of rows that failed, after the progress; empty if none did."""
        return ""


@dataclass(frozen=True, kw_only=True)
class UnreadableJob(JobState):
    """A job whose record this version cannot read; it can be cancelled and deleted."""

    @property
    def progress_text(self) -> str:
        return "its record cannot be read"


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


@dataclass(frozen=True)
class QueueView:
    """One look at everything: workers, jobs (the newest first), and what is missing in words.

    now_s : Unix time by the database's clock [s]
    """

    workers: tuple[WorkerInfo, ...]
    jobs: tuple[JobState, ...]
    missing: tuple[str, ...]
    now_s: float


def iso_utc(time_s: float) -> str:
    """Unix time [s] as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
