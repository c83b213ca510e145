"""What an upload tells about step times: a whole run, single steps, or a table by size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.calibration.lockstep import StepSamples
from core.calibration.recording import EngineRun

MAX_STEPS = 1_000_000
"""Steps of a log that are looked at; the rest is counted."""


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
