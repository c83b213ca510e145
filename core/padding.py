"""A step histogram through a bucket set: slots, padding, hits and coverage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import CaptureSizesError
from core.records import IntArray, SizeUnit, StepHistogram, normalised_sizes
from core.text.counting import counted

EAGER = -1
"""What `bucket_of` gives for a size that no capture size holds."""

LookUp = Callable[[IntArray, Sequence[int]], IntArray]
"""(n,) step sizes and capture sizes -> (n,) the size that each step replays, -1 for none."""


def bucket_of(sizes: Sequence[int] | IntArray, capture_sizes: Sequence[int] | IntArray) -> IntArray:
    """Smallest capture size that holds each size.

    sizes : (n,) [unit]; capture_sizes : any order, repeats allowed [unit]
    Returns (n,) [unit]; -1 where none is large enough and the step runs eager.
    Raises CaptureSizesError.
    Source: rounding up as in vLLM's and SGLang's decode graphs.
    """
    ladder = np.array([*normalised_sizes(capture_sizes), EAGER], np.int64)
    return ladder[np.searchsorted(ladder[:-1], np.asarray(sizes, np.int64))]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True)
class PaddingReport:
    """What a bucket set does to the steps of a histogram.

    A ratio over nothing is 0.0: waste and overhead when no step runs a graph, coverage when
    there is no step. Counts are Python integers (dtype object) where 64 bits would wrap.

    capture_sizes : (k,) ascending [unit]
    hits : (k,) steps each bucket serves [steps]
    slots, padded_slots : (k,) replayed by each bucket, and those of them that are padding [slots]
    bucket_by_size : (m,) bucket of each size of the histogram, -1 eager [unit]
    padded_by_size : (m,) padded slots of all steps of that size; 0 where they run eager [slots]
    useful_slots, total_slots, padded_total : over graph steps only [slots]
    mean_step_waste : mean over graph steps of padded / bucket, which weighs a small step like a
        large one
    uncovered : the steps that run eager
    """

    capture_sizes: tuple[int, ...]
    unit: SizeUnit
    hits: NDArray[Any]
    slots: NDArray[Any]
    padded_slots: NDArray[Any]
    bucket_by_size: IntArray
    padded_by_size: NDArray[Any]
    useful_slots: int
    total_slots: int
    steps: int
    graph_steps: int
    mean_step_waste: float
    uncovered: StepHistogram

    @property
    def padded_total(self) -> int:
        return self.total_slots - self.useful_slots

    @property
    def eager_steps(self) -> int:
        return self.steps - self.graph_steps

    @property
    def waste(self) -> float:
        """Padded slots / bucket slots, over graph steps only: weighted by rows."""
        return _ratio(self.padded_total, self.total_slots)

    @property
    def overhead(self) -> float:
        """Padded slots / useful slots, over graph steps only."""
        return _ratio(self.padded_total, self.useful_slots)

    @property
    def coverage(self) -> float:
        """Graph steps / steps."""
        return _ratio(self.graph_steps, self.steps)

    @property
    def unused(self) -> tuple[int, ...]:
        """Capture sizes that no step runs."""
        pairs = zip(self.capture_sizes, self.hits, strict=True)
        return tuple(size for size, hits in pairs if not hits)

    @property
    def droppable_share(self) -> float:
        """Graphs that can go without changing waste or coverage, of all graphs."""
        return len(self.unused) / len(self.capture_sizes)

    def summary(self) -> str:
        """One sentence for captions."""
        graphs = counted(len(self.capture_sizes), "graphs")
        text = (
            f"{graphs}: {100 * self.waste:.1f} % of the replayed slots are "
            f"padding, {100 * self.coverage:.1f} % of the steps run a graph"
        )
        if self.eager_steps:
            largest = self.capture_sizes[-1]
            text += f"; {self.eager_steps:,} steps above {largest} run eager"
        if self.unused:
            are = "is" if len(self.unused) == 1 else "are"
            text += f"; {counted(len(self.unused), 'graphs')} {are} never used"
        return f"{text}."


def _counts(histogram: StepHistogram, largest: int) -> NDArray[Any]:
    """Steps by size, in Python integers where products with `largest` would wrap."""
    top = max([largest, *histogram.sizes[-1:].tolist()])
    small = float(top) * float(histogram.steps.sum(dtype=float)) < 2**62
    return histogram.steps if small else histogram.steps.astype(object)


def padding_report(
    histogram: StepHistogram, capture_sizes: Sequence[int] | IntArray
) -> PaddingReport:
    """Padding, hits and coverage of a bucket set over a histogram, each step rounded up.

    capture_sizes : any order, repeats allowed [the histogram's unit]
    Raises CaptureSizesError.
    """
    return dispatched_report(histogram, capture_sizes, bucket_of(histogram.sizes, capture_sizes))


def dispatched_report(
    histogram: StepHistogram, capture_sizes: Sequence[int] | IntArray, bucket: IntArray
) -> PaddingReport:
    """The same where an engine's own rule has said which graph each size replays.

    bucket : (m,) a captured size for each size of the histogram, -1 eager [unit]
    Raises CaptureSizesError, also for a bucket that is not captured or smaller than its step.
    """
    ladder = normalised_sizes(capture_sizes)
    sizes, steps = histogram.sizes, _counts(histogram, ladder[-1])
    graph = bucket != EAGER
    wrong = graph & (~np.isin(bucket, ladder) | (bucket < sizes))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise CaptureSizesError(f"A step of {sizes[i]} cannot replay a graph of {bucket[i]}.")
    padded = np.where(graph, bucket - sizes, 0) * steps
    index = np.searchsorted(np.array(ladder, np.int64), bucket[graph])
    hits = np.zeros(len(ladder), steps.dtype)
    padded_slots = np.zeros(len(ladder), steps.dtype)
    np.add.at(hits, index, steps[graph])
    np.add.at(padded_slots, index, padded[graph])
    slots = hits * np.array(ladder, np.int64)
    graph_steps = int(steps[graph].sum())
    step_waste = float((padded[graph] / bucket[graph]).sum())
    return PaddingReport(
        capture_sizes=ladder,
        unit=histogram.unit,
        hits=hits,
        slots=slots,
        padded_slots=padded_slots,
        bucket_by_size=bucket,
        padded_by_size=padded,
        useful_slots=int((sizes[graph] * steps[graph]).sum()),
        total_slots=int(slots.sum()),
        steps=int(steps.sum()),
        graph_steps=graph_steps,
        mean_step_waste=_ratio(step_waste, graph_steps),
        uncovered=_part(histogram, ~graph),
    )


def _part(histogram: StepHistogram, keep: NDArray[np.bool_]) -> StepHistogram:
    return replace(histogram, sizes=histogram.sizes[keep], steps=histogram.steps[keep])
