"""The loads that a list has to stand: the traffic faster and slower, its halves, other files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.errors import SettingError
from core.records import StepHistogram, Trace
from core.trace_changes import scaled_arrivals

LOADS = (0.5, 1.0, 1.25, 1.5, 2.0)
"""Times as fast as the traffic came."""
FEWEST_FOR_HALVES = 40
"""Requests that can be cut in two and still say something."""


@dataclass(frozen=True)
class Scenario:
    """One load. name : for people, "x1.5"; load : times the traffic's own rate, 1 for others.

    trace : requests with arrivals; None where `steps` stands for them
    steps : decode steps of a histogram, its sizes scaled by the load
    how : where it comes from: "as it came", "arrivals scaled", "sizes scaled", "half", "given"
    """

    name: str
    load: float
    trace: Trace | None
    how: str
    steps: StepHistogram | None = None


def scenarios_of(
    trace: Trace, loads: Sequence[float] = LOADS, others: Sequence[Trace] = ()
) -> tuple[Scenario, ...]:
    """The trace at each load, its two halves at its own, and other traces as they are.

    Raises SettingError without arrivals, or for a load of 0 or less.
    """
    if trace.arrival_s is None:
        raise SettingError(
            f"{trace.name or 'The trace'} has no arrivals, so how many requests run together is "
            "unknown; give --rate (requests/s) or --concurrency."
        )
    found = [
        Scenario(
            f"x{load:g}",
            load,
            trace if load == 1.0 else scaled_arrivals(trace, load),
            "as it came" if load == 1.0 else "arrivals scaled",
        )
        for load in sorted({1.0, *loads})
    ]
    if len(trace) >= FEWEST_FOR_HALVES:
        first, second = halves(trace)
        found += [
            Scenario("first half", 1.0, first, "half"),
            Scenario("second half", 1.0, second, "half"),
        ]
    for place, other in enumerate(others, 1):
        name = other.name or f"other traffic {place}"
        taken = {scenario.name for scenario in found}
        found.append(Scenario(f"{name} ({place})" if name in taken else name, 1.0, other, "given"))
    return tuple(found)


def halves(trace: Trace) -> tuple[Trace, Trace]:
    """The requests of the first and of the second half of the time, each from 0 s on."""
    arrival = trace.arrival_s
    assert arrival is not None
    late = arrival >= arrival[0] + (arrival[-1] - arrival[0]) / 2
    return _part(trace, ~late), _part(trace, late)


def _part(trace: Trace, keep: np.ndarray) -> Trace:
    arrival, hits = trace.arrival_s, trace.prefix_hit_tokens
    assert arrival is not None
    kept = arrival[keep]
    return replace(
        trace,
        prompt_tokens=trace.prompt_tokens[keep],
        output_tokens=trace.output_tokens[keep],
        arrival_s=kept - (kept[0] if len(kept) else 0.0),
        prefix_hit_tokens=None if hits is None else hits[keep],
    )


def histogram_scenarios(
    steps: StepHistogram, max_num_seqs: int, loads: Sequence[float] = LOADS
) -> tuple[Scenario, ...]:
    """The histogram's sizes times each load, cut at max_num_seqs: a guess, and called one.

    More load is more requests at once, in proportion while the engine keeps up.
    """
    return tuple(
        Scenario(
            f"x{load:g}",
            load,
            None,
            "as it came" if load == 1.0 else "sizes scaled",
            scaled_sizes(steps, load, max_num_seqs),
        )
        for load in sorted({1.0, *loads})
    )


def scaled_sizes(steps: StepHistogram, factor: float, largest: int) -> StepHistogram:
    """The same steps with sizes times `factor`, 1 or more and at most `largest`."""
    sizes = np.clip(np.rint(steps.sizes * factor), 1, largest).astype(np.int64)
    found, place = np.unique(sizes, return_inverse=True)
    counts = np.bincount(place, steps.steps.astype(np.float64), len(found))
    return replace(steps, sizes=found, steps=np.rint(counts).astype(np.int64))
