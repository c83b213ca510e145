"""What to do with each bucket of a set: when this traffic pays for its graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.break_even import break_even
from core.cost.mean_step import step_times_us
from core.errors import HistogramError, SettingError
from core.padding import EAGER, LookUp, PaddingReport, bucket_of, dispatched_report
from core.records import FloatArray, IntArray, StepCost, StepHistogram, normalised_sizes
from core.step_cost import capture_ms_at, check_units, eager_us_at, graph_step_us_at
from core.verdicts import UPTIME_S, Horizon, Verdict, verdict_of


@dataclass(frozen=True)
class BucketBreakEven:
    """One bucket, or the whole set (`size` 0), weighed against running its steps eagerly.

    hits : steps that it serves [steps]
    eager_us : mean eager step at the unpadded sizes of those steps; at the full bucket where
        there are none [us]
    graph_us : replay at the padded size, with copying in [us]
    pays_back_s : time this traffic needs for `even_at` steps [s]; None = never, or unknown
    without_us : what each of its steps would take more if this bucket alone were missing and they
        ran in the next one, or eager above the largest [us]; None for the set and unused buckets
    alone_from : first step count at which capturing this bucket has cost less than that; None =
        never, and as above. It decides the verdict; the fields before are against eager steps
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
    without_us: float | None = None
    alone_from: int | None = None


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
    restore_ms: float | None = None,
    look_up: LookUp = bucket_of,
) -> SetBreakEven:
    """When each bucket of a set pays back for this traffic, and the whole set.

    look_up : which size a step replays; an engine's own rule, else rounding up
    uptime_s : how long the engine runs between restarts; what pays back later is left eager [s]
    restore_ms : of one graph that is restored from disk instead of captured; 0 saves at once [ms]
    Raises CaptureSizesError, HistogramError (no step), SettingError, CostUnitError.
    """
    if histogram.total_steps == 0:
        raise HistogramError("The histogram holds no step, so there is nothing to weigh.")
    if not math.isfinite(uptime_s) or uptime_s <= 0:
        raise SettingError(f"The uptime is {uptime_s} s; give a number above 0.")
    check_units(cost, histogram.unit)
    sizes = normalised_sizes(capture_sizes)
    report = dispatched_report(histogram, sizes, look_up(histogram.sizes, sizes))
    ladder = np.array(sizes, np.int64)
    graph_us = graph_step_us_at(cost, ladder)
    capture_us = 1e3 * _capture_ms(cost, ladder, restore_ms)
    eager_us = _eager_means(histogram, report.bucket_by_size, ladder, cost)
    horizon = Horizon(histogram.duration_s, uptime_s)
    rows: list[BucketBreakEven] = []
    for i, size in reversed(list(enumerate(sizes))):  # the larger first: others may run in them
        hits = int(report.hits[i])
        row = _weigh(
            size, hits, float(eager_us[i]), float(graph_us[i]), float(capture_us[i]), horizon
        )
        instead = _without(histogram, report, size, look_up)
        rows.insert(0, _beside(row, instead, cost, rows, horizon))
    return SetBreakEven(tuple(rows), _whole(rows, histogram, report.bucket_by_size, cost, horizon))


def _capture_ms(cost: StepCost, ladder: IntArray, restore_ms: float | None) -> FloatArray:
    if restore_ms is None:
        return capture_ms_at(cost, ladder)
    if not math.isfinite(restore_ms) or restore_ms < 0:
        raise SettingError(f"Restoring a graph takes {restore_ms} ms; give a number of 0 or more.")
    return np.full(len(ladder), float(restore_ms))


@dataclass(frozen=True)
class _Without:
    """The steps of one bucket, and what they would replay if it alone were missing."""

    sizes: IntArray
    steps: IntArray
    bucket: IntArray


def _without(
    histogram: StepHistogram, report: PaddingReport, size: int, look_up: LookUp
) -> _Without:
    own = report.bucket_by_size == size
    sizes, steps = histogram.sizes[own], histogram.steps[own]
    others = [n for n in report.capture_sizes if n != size]
    bucket = look_up(sizes, others) if others else np.full(len(sizes), EAGER, np.int64)
    return _Without(sizes, steps, bucket)


def _beside(
    row: BucketBreakEven,
    instead: _Without,
    cost: StepCost,
    larger: Sequence[BucketBreakEven],
    horizon: Horizon,
) -> BucketBreakEven:
    """The row judged against what its steps would do if it alone were missing."""
    if not row.hits:
        return row
    times = step_times_us(instead.sizes, instead.bucket, cost)
    mean_us = float(times @ instead.steps) / row.hits
    even = break_even(row.capture_us, mean_us, row.graph_us)
    found = np.unique(instead.bucket[instead.steps > 0]).tolist()[::-1]
    verdict, reason = verdict_of(
        *(row.hits, even.net_us, even.saves_from),
        *(horizon.seconds(even.even_at, row.hits), horizon.uptime_s),
        larger=found[-1] != EAGER,
    )
    return replace(
        row,
        verdict=verdict,
        reason=f"{reason} {_without_text(found, mean_us - row.graph_us, larger)}",
        without_us=mean_us - row.graph_us,
        alone_from=even.saves_from,
    )


def _without_text(found: Sequence[int], without: float, larger: Sequence[BucketBreakEven]) -> str:
    """Where the steps would run, what that takes, and whether a bucket among them is to go."""
    where = " or ".join(f"run in {n}" if n != EAGER else "run eager" for n in found)
    more = f"{without:,.0f} µs more" if without > 0 else "no longer, so it can go"
    stay = (Verdict.AT_START, Verdict.ON_FIRST_USE)
    gone = [row for row in larger if row.size in found and row.verdict not in stay]
    notes = (f" The verdict on {row.size} itself is: {row.verdict.value}." for row in gone)
    return f"Without it they would {where} and take {more}.{''.join(notes)}"


def _eager_means(
    histogram: StepHistogram, bucket: IntArray, ladder: IntArray, cost: StepCost
) -> FloatArray:
    """Mean eager step of each bucket's steps, at a full bucket where there are none: (k,) [us]."""
    times = eager_us_at(cost, histogram.sizes) * histogram.steps
    graph = bucket >= 0
    index = np.searchsorted(ladder, bucket[graph])
    totals, hits = np.zeros(len(ladder)), np.zeros(len(ladder))
    np.add.at(totals, index, times[graph])
    np.add.at(hits, index, histogram.steps[graph].astype(float))
    return np.where(hits > 0, totals / np.maximum(hits, 1.0), eager_us_at(cost, ladder))


def _weigh(
    size: int, hits: int, eager: float, graph: float, capture: float, horizon: Horizon
) -> BucketBreakEven:
    even = break_even(capture, eager, graph)
    pays_back_s = horizon.seconds(even.even_at, hits)
    verdict, reason = verdict_of(hits, even.net_us, even.saves_from, pays_back_s, horizon.uptime_s)
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


def _whole(
    rows: Sequence[BucketBreakEven],
    histogram: StepHistogram,
    bucket: IntArray,
    cost: StepCost,
    horizon: Horizon,
) -> BucketBreakEven:
    steps = histogram.total_steps
    eager_at = bucket < 0
    uncovered = float(
        (eager_us_at(cost, histogram.sizes[eager_at]) * histogram.steps[eager_at]).sum()
    )
    eager = (sum(row.eager_us * row.hits for row in rows) + uncovered) / steps
    graph = (sum(row.graph_us * row.hits for row in rows) + uncovered) / steps
    return _weigh(0, steps, eager, graph, sum(row.capture_us for row in rows), horizon)
