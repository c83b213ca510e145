"""How a list chosen on one part of the traffic does on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.buckets import FrontierPoint, frontier, set_cost
from core.errors import HistogramError, SettingError
from core.padding import padding_report
from core.records import IntArray, StepCost, StepHistogram, Trace


def split_trace(trace: Trace, share: float = 0.5) -> tuple[Trace, Trace]:
    """The first part of the requests and the rest, each starting at 0 s.

    Raises SettingError, HistogramError if a part would be empty.
    """
    if not 0 < share < 1:
        raise SettingError(f"The share of the first part is {share}; give one between 0 and 1.")
    cut = round(len(trace) * share)
    if not 0 < cut < len(trace):
        raise HistogramError(f"{len(trace)} requests are too few to hold a part back.")
    return _part(trace, slice(0, cut)), _part(trace, slice(cut, None))


def _part(trace: Trace, rows: slice) -> Trace:
    arrivals = None if trace.arrival_s is None else trace.arrival_s[rows] - trace.arrival_s[rows][0]
    prefix = None if trace.prefix_hit_tokens is None else trace.prefix_hit_tokens[rows]
    return Trace(trace.prompt_tokens[rows], trace.output_tokens[rows], arrivals, prefix, trace.name)


@dataclass(frozen=True)
class HeldOut:
    """One number of graphs: chosen on the first part, scored on the second.

    waste_own : of the first part under its own best list; waste : of the second under that list;
    waste_best : of the second under its own best list. coverage : of the second
    step_us, best_step_us : mean steps of the second likewise; None without a step cost
    """

    max_graphs: int
    sizes: tuple[int, ...]
    waste_own: float
    waste: float
    waste_best: float
    coverage: float
    step_us: float | None = None
    best_step_us: float | None = None

    @property
    def regret(self) -> float:
        """Waste above the second part's own best, as a difference of shares."""
        return self.waste - self.waste_best

    @property
    def step_regret(self) -> float | None:
        """Step time above the second part's own best, as a share of it."""
        if self.step_us is None or self.best_step_us is None:
            return None
        return self.step_us / self.best_step_us - 1


def hold_out(
    first: StepHistogram,
    second: StepHistogram,
    max_graphs: Sequence[int],
    *,
    cost: StepCost | None = None,
    guard: int | None = None,
) -> list[HeldOut]:
    """Regret of lists chosen on `first` for `second`, for several numbers of graphs.

    guard : captured in both cases, e.g. the engine's largest batch, so that nothing runs eager
    Raises as `frontier` does.
    """
    include = () if guard is None else (guard,)
    if guard is not None:
        top = int(max(first.sizes[-1], second.sizes[-1]))
        if guard < top:
            raise SettingError(f"The guard is {guard}, but steps of {top} occur; raise it.")
    most = max(max_graphs)
    chosen = frontier(first, max_graphs=most, cost=cost, include=include)
    own = frontier(second, max_graphs=most, cost=cost, include=include)
    return [_held_out(k, chosen.at(k), own.at(k), second, cost) for k in max_graphs]


def _held_out(
    k: int, chosen: FrontierPoint, own: FrontierPoint, second: StepHistogram, cost: StepCost | None
) -> HeldOut:
    report = padding_report(second, chosen.sizes)
    step_us = best_us = None
    if cost is not None:
        step_us = set_cost(second, chosen.sizes, cost) / second.total_steps
        best_us = set_cost(second, own.sizes, cost) / second.total_steps
    return HeldOut(
        k, chosen.sizes, chosen.waste, report.waste, own.waste, report.coverage, step_us, best_us
    )


def split_steps(histogram: StepHistogram, seed: int = 0) -> tuple[StepHistogram, StepHistogram]:
    """Two random halves of the steps, for histograms without time order.

    Random halves are alike by construction, so their regret is a lower bound of what drift costs.
    Raises HistogramError for fewer than two steps.
    """
    if histogram.total_steps < 2:
        raise HistogramError("One step cannot be split; give a histogram of more.")
    left = np.random.default_rng(seed).binomial(histogram.steps, 0.5)
    halves = (left, histogram.steps - left)
    if not all(half.any() for half in halves):
        raise HistogramError("Too few steps to hold a half back.")
    return _counts(histogram, halves[0]), _counts(histogram, halves[1])


def _counts(histogram: StepHistogram, steps: IntArray) -> StepHistogram:
    keep = steps > 0
    return StepHistogram(
        histogram.sizes[keep],
        steps[keep].astype(np.int64),
        unit=histogram.unit,
        origin=histogram.origin,
        source=f"half of {histogram.source}",
        decode_only=histogram.decode_only,
    )
