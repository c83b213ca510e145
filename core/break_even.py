"""When capturing one graph has paid for itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.errors import SettingError
from core.records import FloatArray


@dataclass(frozen=True)
class BreakEven:
    """When capturing pays back.

    net_us : eager step - graph step [us a step]
    even_at : steps after which both have cost the same; None = never
    saves_from : first step count at which capturing has cost less; None = never
    """

    net_us: float
    even_at: float | None
    saves_from: int | None


def break_even(capture_us: float, eager_us: float, graph_us: float) -> BreakEven:
    """Capture cost against the net gain of each replay, times in us.

    600 us at a gain of 2 us: even at step 300, saving from step 301. No gain: never. A capture
    cost of 0 (a graph restored from disk) saves from step 1.
    Raises SettingError if a time is below 0 or not finite.
    """
    for label, value in (("capture", capture_us), ("eager", eager_us), ("graph", graph_us)):
        if not math.isfinite(value) or value < 0:
            raise SettingError(f"The {label} time is {value} µs; give a number of 0 or more.")
    net = eager_us - graph_us
    if net <= 1e-12 * max(eager_us, graph_us):  # closer than the last digit: no gain
        return BreakEven(min(net, 0.0), None, None)
    even = capture_us / net
    whole = round(even)
    if abs(even - whole) <= 1e-9 * max(1.0, even):  # 0.3 - 0.1 is not quite 0.2
        even = float(whole)
    return BreakEven(net, even, math.floor(even) + 1)


@dataclass(frozen=True)
class CumulativeCurves:
    """Time spent after n steps, both ways.

    steps : (n,) float64 from 0 [steps]; eager_us, graph_us : (n,) [us]
    even_at : where they cross [steps]; None = never
    """

    steps: FloatArray
    eager_us: FloatArray
    graph_us: FloatArray
    even_at: float | None


def cumulative_curves(
    capture_us: float,
    eager_us: float,
    graph_us: float,
    *,
    max_steps: float | None = None,
    num_points: int = 101,
) -> CumulativeCurves:
    """Eager against capture-then-replay over steps.

    max_steps : end of the axis; by default twice the break-even, or 1000 steps where there is none
    Raises SettingError.
    """
    even = break_even(capture_us, eager_us, graph_us)
    if max_steps is None:
        max_steps = 2.0 * even.even_at if even.even_at else 1000.0
    if not math.isfinite(max_steps) or max_steps <= 0:
        raise SettingError(f"The axis ends at {max_steps} steps; give a number above 0.")
    steps = np.linspace(0.0, max_steps, num_points)
    return CumulativeCurves(steps, eager_us * steps, capture_us + graph_us * steps, even.even_at)
