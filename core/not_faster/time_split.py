"""Where the time of a step goes, size by size: what graphs leave, and what is lost beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.cost.points import eager_us_at, replay_us_at
from core.not_faster.times import Times
from core.padding import EAGER, PaddingReport
from core.records import FloatArray, IntArray, Origin, StepHistogram
from core.size_bins import size_bins

PARTS = ("kernels", "padding", "pieces", "copy", "outside", "fallback")
"""In the order in which they are stacked; each is a field NAME_us of TimeSplit."""


@dataclass(frozen=True)
class TimeSplit:
    """Mean time of the steps of each size, in parts that add up. All arrays are (m,).

    sizes, steps : the histogram; on_graph : share of the steps of a size that replay, 0 to 1
    eager_us : the step without graphs
    kernels_us : the replay at the step's true size, in one graph
    padding_us : the replay of its bucket beyond that
    pieces_us : what cutting the graph into pieces adds
    copy_us : inputs copied in; outside_us : the engine's step beyond its replay
    fallback_us : what an eager step takes beyond the replay it could have had
    spread_us : how far repeated measurements lie apart
    measures_boundary : whether the times tell copies and pieces apart
    """

    sizes: IntArray
    steps: IntArray
    on_graph: FloatArray
    eager_us: FloatArray
    kernels_us: FloatArray
    padding_us: FloatArray
    pieces_us: FloatArray
    copy_us: FloatArray
    outside_us: FloatArray
    fallback_us: FloatArray
    spread_us: FloatArray
    origin: Origin
    source: str
    measures_boundary: bool = True

    def mean(self, name: str) -> float:
        """Mean over all steps of one field, without its _us [us]."""
        values: FloatArray = getattr(self, f"{name}_us")
        return float(values @ self.steps) / float(self.steps.sum())

    @property
    def taken_us(self) -> FloatArray:
        """What the steps of each size take: the sum of the parts: (m,) [us]."""
        return np.sum([getattr(self, f"{name}_us") for name in PARTS], axis=0)

    @property
    def mean_taken_us(self) -> float:
        return float(self.taken_us @ self.steps) / float(self.steps.sum())

    @property
    def gain_us(self) -> float:
        """What graphs save a mean step; below 0: they cost time [us]."""
        return self.mean("eager") - self.mean_taken_us

    @property
    def possible_us(self) -> float:
        """What a graph of every size, without copies and pieces, would save a mean step [us]."""
        return self.mean("eager") - self.mean("kernels") - self.mean("outside")

    @property
    def eager_share(self) -> float:
        """Steps that replay no graph, 0 to 1."""
        return 1.0 - float(self.on_graph @ self.steps) / float(self.steps.sum())


def split_time(
    steps: StepHistogram, report: PaddingReport, times: Times, eager_share: float | None = None
) -> TimeSplit:
    """Split the time of each size's steps.

    steps : at least one step, in the unit of report and times
    eager_share : steps that the engine itself counted as eager, where that is more than the
        captured sizes explain; the rest is spread over all sizes alike
    """
    sizes, bucket = steps.sizes, report.bucket_by_size
    eager = eager_us_at(times.cost, sizes)
    graph = bucket != EAGER
    padded = replay_us_at(times.cost, np.where(graph, bucket, sizes))
    # Measured points may dip: a bucket that is faster than the size itself pads nothing.
    replay = np.minimum(replay_us_at(times.cost, sizes), padded)
    pieces = np.minimum(times.part("pieces", sizes), replay)
    share = graph * _replayed_share(steps, graph, eager_share)
    whole = replay - pieces
    in_eager = np.minimum(whole, eager)
    outside = times.part("outside", sizes)
    return TimeSplit(
        sizes,
        steps.steps,
        share,
        eager + outside,
        share * whole + (1.0 - share) * in_eager,
        (padded - replay) * share,
        pieces * share,
        np.full(len(sizes), times.cost.copy_us) * share,
        outside,
        (eager - in_eager) * (1.0 - share),
        times.part("spread", sizes),
        times.cost.origin,
        times.cost.source,
        times.copies,
    )


def _replayed_share(steps: StepHistogram, graph: np.ndarray, eager_share: float | None) -> float:
    """Of the steps whose size a graph holds, those that replayed it."""
    held = float(steps.steps[graph].sum()) / steps.total_steps
    if eager_share is None or held == 0:
        return 1.0
    return float(np.clip((1.0 - eager_share) / held, 0.0, 1.0))


@dataclass(frozen=True)
class SplitBins:
    """Mean step times of neighbouring sizes together, for a chart.

    first, last : (b,) sizes of each bin; steps : (b,) how many steps it stands for
    eager_us : (b,) mean eager step; parts : {name: (b,) mean of that part} in the order of PARTS,
        without those that are 0 throughout [us]
    """

    labels: tuple[str, ...]
    first: IntArray
    last: IntArray
    steps: FloatArray
    eager_us: FloatArray
    parts: dict[str, FloatArray]


def split_bins(split: TimeSplit, max_bins: int = 48) -> SplitBins:
    """At most max_bins bins; each holds the mean over its steps."""
    series = [getattr(split, f"{name}_us") * split.steps for name in ("eager", *PARTS)]
    bins = size_bins(split.sizes, split.steps, *series, max_bins=max_bins)
    counts = np.maximum(bins.sums[0], 1.0)
    eager, *parts = (values / counts for values in bins.sums[1:])
    named = dict(zip(PARTS, parts, strict=True))
    return SplitBins(
        tuple(bins.labels),
        bins.first,
        bins.last,
        bins.sums[0],
        eager,
        {name: values for name, values in named.items() if values.any()},
    )
