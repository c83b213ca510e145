"""What an engine offers once it is started: requests in, one step at a time, and its own words.

gpu_worker.driven knows engines by this alone; a package of gpu_worker.targets fulfils it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.errors import ProjectError

TOLD = "bucketwise: all that the start printed is above"
"""The line that ends what a start printed: it comes through another pipe than the answer."""


class PointRefusedError(ProjectError):
    """This size cannot be measured on this engine; others can."""


@dataclass(frozen=True)
class StepRecord:
    """One step as it went.

    start_s, wall_s : from its call to its return, which waits for the step's tokens [s]
    running_before, waiting_before, running_after : requests
    rows, tokens : requests and tokens that the scheduler put into it; None: not told
    mode, padded : how it ran ("FULL", "PIECEWISE", "NONE") and to how many tokens; None: not told
    card_s : the model's part by events on the card; None: not told [s]
    counts : {request: output tokens that it has now}, of those that got one
    finished : requests that ended
    """

    start_s: float
    wall_s: float
    running_before: int
    waiting_before: int
    running_after: int
    rows: int | None
    tokens: int | None
    mode: str | None
    padded: int | None
    card_s: float | None
    counts: dict[str, int]
    finished: tuple[str, ...]

    @property
    def end_s(self) -> float:
        return self.start_s + self.wall_s


@dataclass(frozen=True)
class Limits:
    """Of the engine as it runs; kv_tokens None: not told.

    step_tokens : the most tokens that one request can get in a step; 1 without speculation
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    vocab_size: int
    kv_tokens: int | None
    step_tokens: int = 1


@dataclass(frozen=True)
class Capture:
    """One capture size of one kind. seconds : with its warm-up; num_bytes : of the driver."""

    kind: str
    size: int | None
    seconds: float
    num_bytes: int | None


@dataclass(frozen=True)
class Started:
    """What a start told, but for what was printed. phases : (name, seconds) by the clock."""

    name: str
    release: str
    capture_sizes: tuple[int, ...]
    kv_blocks: int | None
    block_size_tokens: int | None
    captures: tuple[Capture, ...]
    phases: tuple[tuple[str, float], ...]
    notes: tuple[str, ...] = ()


class Driver(Protocol):
    """A started engine. One thread."""

    limits: Limits
    started: Started

    def add(self, tokens: Sequence[int], output_tokens: int) -> str:
        """Queue a request that ends after exactly so many tokens. Returns its name."""
        ...

    def step(self) -> StepRecord:
        """Schedule, run and read back one step."""
        ...

    def abort(self, requests: Sequence[str]) -> None:
        """Forget these requests."""
        ...

    @property
    def busy(self) -> bool:
        """Whether a request is unfinished."""
        ...

    def close(self) -> None:
        """End in good order what it started: other ranks, and what they share."""
        ...
