"""When capturing a graph has paid for itself, and what to do with each bucket."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from core.errors import HistogramError, SettingError
from core.padding import padding_report
from core.records import FloatArray, IntArray, StepCost, StepHistogram
from core.step_cost import capture_ms_at, check_units, eager_us_at, graph_step_us_at

UPTIME_S = 24 * 3600.0
"""How long an engine runs between restarts unless told otherwise: a day, an assumption."""


class Verdict(StrEnum):
    """What to do with a bucket."""

    AT_START = "capture at start"
    ON_FIRST_USE = "capture on first use"
    LEAVE_EAGER = "leave eager"
    DROP = "drop: never used"


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
            raise SettingError(f"The {label} time is {value} us; give a number of 0 or more.")
    net = eager_us - graph_us
    if net <= 1e-12 * max(eager_us, graph_us):  # closer than the last digit: no gain
        return BreakEven(min(net, 0.0), None, None)
    even = capture_us / net
    whole = round(even)
    if abs(even - whole) <= 1e-9 * max(1.0, even):  # 0.3 - 0.1 is not quite 0.2
        even = float(whole)
    return BreakEven(net, even, math.floor(even) + 1)


@dataclass(frozen=True)
class BucketBreakEven:
    """One bucket, or the whole set (`size` 0), weighed against running its steps eagerly.

    hits : steps that it serves [steps]
    eager_us : mean eager step at the unpadded sizes of those steps; at the full bucket where
        there are none [us]
    graph_us : replay at the padded size, with copying in [us]
    pays_back_s : time this traffic needs for `even_at` steps [s]; None = never, or unknown
    """

    size: int
    hits: int
    eager_us: float
    graph_us: float
    capture_us: float
    net_us: float
    even_at: float | None
    saves_from: int | None
    pays_back_s: float | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class SetBreakEven:
    """Every bucket, and the whole set over all steps of the histogram.

    whole : its step is the mean step of this traffic; steps without a graph cost the same on both
        sides, so they count with a gain of 0
    """

    rows: tuple[BucketBreakEven, ...]
    whole: BucketBreakEven


def bucket_break_even(
    histogram: StepHistogram,
    capture_sizes: Sequence[int] | IntArray,
    cost: StepCost,
    *,
    uptime_s: float = UPTIME_S,
) -> SetBreakEven:
    """When each bucket of a set pays back for this traffic, and the whole set.

    uptime_s : how long the engine runs between restarts; what pays back later is left eager [s]
    Raises CaptureSizesError, HistogramError (no step), SettingError, CostUnitError.
    """
    if histogram.total_steps == 0:
        raise HistogramError("The histogram holds no step, so there is nothing to weigh.")
    if not math.isfinite(uptime_s) or uptime_s <= 0:
        raise SettingError(f"The uptime is {uptime_s} s; give a number above 0.")
    check_units(cost, histogram.unit)
    report = padding_report(histogram, capture_sizes)
    ladder = np.array(report.capture_sizes, np.int64)
    graph_us = graph_step_us_at(cost, ladder)
    capture_us = 1e3 * capture_ms_at(cost, ladder)
    eager_total = _eager_totals(histogram, report.bucket_by_size, ladder, cost)
    full = eager_us_at(cost, ladder)
    horizon = _Horizon(histogram, uptime_s)
    rows = []
    for i, size in enumerate(report.capture_sizes):
        hits = int(report.hits[i])
        eager = float(eager_total[i]) / hits if hits else float(full[i])
        rows.append(_weigh(size, hits, eager, float(graph_us[i]), float(capture_us[i]), horizon))
    return SetBreakEven(tuple(rows), _whole(rows, histogram, report.bucket_by_size, cost, horizon))


def _eager_totals(
    histogram: StepHistogram, bucket: IntArray, ladder: IntArray, cost: StepCost
) -> FloatArray:
    """Time of each bucket's steps if they ran eager at their own sizes: (k,) [us]."""
    times = eager_us_at(cost, histogram.sizes) * histogram.steps
    graph = bucket >= 0
    totals = np.zeros(len(ladder))
    np.add.at(totals, np.searchsorted(ladder, bucket[graph]), times[graph])
    return totals


@dataclass(frozen=True)
class _Horizon:
    """What is known of time: the traffic's span and how long an engine stays up."""

    histogram: StepHistogram
    uptime_s: float

    def seconds(self, steps: float | None, hits: int) -> float | None:
        """Time in which this traffic makes `steps` steps, at `hits` a span; None = unknown."""
        span = self.histogram.duration_s
        if steps is None or not span or not hits:
            return None
        return steps * span / hits


def _weigh(
    size: int, hits: int, eager: float, graph: float, capture: float, horizon: _Horizon
) -> BucketBreakEven:
    even = break_even(capture, eager, graph)
    pays_back_s = horizon.seconds(even.even_at, hits)
    verdict, reason = _verdict(hits, even, pays_back_s, horizon.uptime_s)
    return BucketBreakEven(
        size,
        hits,
        eager,
        graph,
        capture,
        even.net_us,
        even.even_at,
        even.saves_from,
        pays_back_s,
        verdict,
        reason,
    )


def _verdict(
    hits: int, even: BreakEven, pays_back_s: float | None, uptime_s: float
) -> tuple[Verdict, str]:
    if not hits:
        return Verdict.DROP, "No step of this traffic runs it."
    if even.saves_from is None:
        return Verdict.LEAVE_EAGER, (
            f"Never pays back: a replay takes {-even.net_us:,.1f} us more than the eager steps it "
            "stands for."
        )
    if hits >= even.saves_from:
        return Verdict.AT_START, (
            f"Pays back after {even.even_at:,.0f} steps; this traffic has {hits:,}."
        )
    short = f"Needs {even.saves_from:,} steps to save; this traffic has {hits:,}"
    if pays_back_s is None or pays_back_s <= uptime_s:
        when = "" if pays_back_s is None else f", so it pays back after {_span(pays_back_s)}"
        return Verdict.ON_FIRST_USE, f"{short}{when}. Start-up need not wait for it."
    return Verdict.LEAVE_EAGER, (
        f"{short}, so it pays back after {_span(pays_back_s)}, later than the engine's next "
        f"restart ({_span(uptime_s)})."
    )


def _span(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def _whole(
    rows: Sequence[BucketBreakEven],
    histogram: StepHistogram,
    bucket: IntArray,
    cost: StepCost,
    horizon: _Horizon,
) -> BucketBreakEven:
    steps = histogram.total_steps
    eager_at = bucket < 0
    uncovered = float(
        (eager_us_at(cost, histogram.sizes[eager_at]) * histogram.steps[eager_at]).sum()
    )
    eager = (sum(row.eager_us * row.hits for row in rows) + uncovered) / steps
    graph = (sum(row.graph_us * row.hits for row in rows) + uncovered) / steps
    return _weigh(0, steps, eager, graph, sum(row.capture_us for row in rows), horizon)


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
