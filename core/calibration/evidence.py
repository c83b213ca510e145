"""What an upload tells about step times: a whole run, single steps, or a table by size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.calibration.lockstep import StepSamples
from core.calibration.recording import EngineRun
from core.errors import FileContentError

MAX_STEPS = 1_000_000
"""Steps of a file that are looked at; how many more there are is said."""
MAX_ROWS, MAX_TOKENS = 1 << 17, 1 << 22
"""Requests and tokens of a step beyond which a file cannot be right; curves hold every size."""


@dataclass(frozen=True)
class Evidence:
    """Step times as a file gives them; at least one of run, samples, graph_us, eager_us is there.

    what : the kind of file, in words
    capture_sizes : of the engine that ran; empty: it ran eager; None: the file does not say
    run : a whole run, whose steps' content follows from the scheduler's rules
    samples : single steps; what they read as context is known only where has_context
    graph_us, eager_us : {batch: median step} with and without graphs [us]
    capture_ms : time to capture one graph; None where the file does not say [ms]
    notes : sentences for people
    """

    what: str
    name: str
    capture_sizes: tuple[int, ...] | None = None
    run: EngineRun | None = None
    samples: StepSamples | None = None
    graph_us: Mapping[int, float] = field(default_factory=dict)
    eager_us: Mapping[int, float] = field(default_factory=dict)
    has_context: bool = False
    capture_ms: float | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_rows(self.name, (*self.graph_us, *self.eager_us, *(self.capture_sizes or ())))
        if self.samples is not None and len(self.samples):
            check_rows(self.name, [int(self.samples.rows.max())])
            tokens = int(self.samples.tokens.max())
            if tokens > MAX_TOKENS:
                raise FileContentError(
                    f"{self.name}: a step of {tokens:,} tokens is more than any engine's; check "
                    "the file."
                )


def check_rows(name: str, sizes: Sequence[int]) -> None:
    """Raises FileContentError for a size that no engine has."""
    if max(sizes, default=0) > MAX_ROWS:
        raise FileContentError(
            f"{name}: a step of {max(sizes):,} requests is more than any engine's "
            f"({MAX_ROWS:,}); check the file and the capture sizes."
        )


class StepList:
    """Steps as they are read, at most MAX_STEPS; what is left out is counted."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, int, int, int]] = []
        self.left_out = 0
        self.beyond = 0

    def add(self, step: tuple[float, int, int, int] | None) -> None:
        """(us, decoding requests, prompts, tokens of a step with prefill); None: no step."""
        if step is None:
            self.left_out += 1
        elif len(self.rows) < MAX_STEPS:
            self.rows.append(step)
        else:
            self.beyond += 1

    @property
    def samples(self) -> StepSamples:
        """At least one step must be there."""
        return step_samples(*zip(*self.rows, strict=True))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not taken, in sentences."""
        found = []
        if self.left_out:
            found.append(
                f"{self.left_out:,} lines were left out: idle steps, other ranks, or cut ones."
            )
        if self.beyond:
            found.append(f"{self.beyond:,} steps after the first {MAX_STEPS:,} were not looked at.")
        return tuple(found)


def step_samples(
    us: Sequence[float], rows: Sequence[int], prompts: Sequence[int], tokens: Sequence[int]
) -> StepSamples:
    """Steps that a file lists one after the other, without their context.

    tokens : all of a step with prefill, 0 where all decoded
    """
    duration = np.asarray(us, np.float64)
    nothing = np.zeros(len(duration), np.int64)
    return StepSamples(
        (np.cumsum(duration) - duration) / 1e6,
        duration,
        np.asarray(rows, np.int64),
        np.asarray(prompts, np.int64),
        np.asarray(tokens, np.int64),
        nothing,
        nothing,
    )


def medians(pairs: Iterable[tuple[int, float]]) -> dict[int, float]:
    """{size: median time} of (size, time) pairs, ascending."""
    by_size: dict[int, list[float]] = {}
    for size, us in pairs:
        by_size.setdefault(size, []).append(us)
    return {size: float(np.median(by_size[size])) for size in sorted(by_size)}
