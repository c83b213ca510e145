"""Step times of some traffic, from what each of its steps replays."""

from __future__ import annotations

from core.errors import HistogramError
from core.padding import EAGER, PaddingReport
from core.records import FloatArray, IntArray, StepCost, StepHistogram
from core.step_cost import check_units, eager_us_at, graph_step_us_at


def step_times_us(sizes: IntArray, bucket: IntArray, cost: StepCost) -> FloatArray:
    """Steps that replay these buckets, eager where they are -1, without `host_us`: (n,) [us]."""
    times = eager_us_at(cost, sizes)
    graph = bucket != EAGER
    times[graph] = graph_step_us_at(cost, bucket[graph])
    return times


def host_us(histogram: StepHistogram, cost: StepCost) -> float:
    """The host's part of all steps by their requests: the same whatever is captured [us]."""
    return cost.row_us * histogram.useful_slots


def mean_step_us(histogram: StepHistogram, report: PaddingReport, cost: StepCost) -> float:
    """Mean wall time of a step whose graph the report names, eager where it names none [us].

    The report may come from plain rounding up or from an engine's own dispatch rule.
    Raises HistogramError (no step), CostUnitError.
    """
    if histogram.total_steps == 0:
        raise HistogramError("The histogram holds no step, so there is no mean.")
    check_units(cost, histogram.unit)
    times = step_times_us(histogram.sizes, report.bucket_by_size, cost)
    total = float(times @ histogram.steps) + host_us(histogram, cost)
    return total / histogram.total_steps
