"""Data-parallel ranks that step together: every rank runs the bucket that all agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from core.errors import CaptureSizesError, HistogramError
from core.padding import EAGER, bucket_of
from core.records import IntArray, SizeUnit, StepHistogram


class RankRule(StrEnum):
    """What the common bucket must hold.

    MAX : the largest rank's tokens (vLLM, SGLang's DP attention by default)
    SUM : all ranks' tokens together (SGLang with gathered tokens)
    """

    MAX = "max"
    SUM = "sum"


@dataclass(frozen=True)
class RankStep:
    """One step of all ranks.

    bucket : that every rank runs; processed, useful : over all ranks [tokens]
    """

    bucket: int
    processed: int
    useful: int

    @property
    def waste(self) -> float:
        return 1.0 - self.useful / self.processed


def _demand(tokens: NDArray[np.int64], rule: RankRule) -> NDArray[np.int64]:
    """What the common bucket must hold, along the last axis; an idle rank still runs one row."""
    need = tokens.max(axis=-1) if rule is RankRule.MAX else tokens.sum(axis=-1)
    return np.maximum(need, 1)


def _checked(tokens: Sequence[int] | Sequence[Sequence[int]] | IntArray) -> NDArray[np.int64]:
    result = np.asarray(tokens, np.int64)
    if result.size == 0 or (result < 0).any():
        raise HistogramError("Tokens of the ranks must be 0 or more, for at least one rank.")
    return result


def rank_step(
    tokens: Sequence[int] | IntArray,
    capture_sizes: Sequence[int] | IntArray,
    rule: RankRule = RankRule.MAX,
) -> RankStep:
    """Bucket and rows of one step. tokens : (ranks,).

    Raises HistogramError, CaptureSizesError (a bucket that none holds).
    """
    ranks = _checked(tokens)
    need = int(_demand(ranks, rule))
    bucket = int(bucket_of([need], capture_sizes)[0])
    if bucket == EAGER:
        raise CaptureSizesError(
            f"No capture size holds {need} tokens ({rule.value} over the ranks); the step runs "
            f"eager. Add {need}."
        )
    return RankStep(bucket, bucket * len(ranks), int(ranks.sum()))


def rank_histogram(
    tokens: Sequence[Sequence[int]] | NDArray[np.int64],
    rule: RankRule = RankRule.MAX,
    *,
    duration_s: float | None = None,
    source: str = "",
) -> StepHistogram:
    """Steps by what the common bucket must hold, so that one list is chosen for all ranks.

    tokens : (steps, ranks); a step in which every rank is idle is no step
    Raises HistogramError.
    """
    steps = _checked(tokens)
    if steps.ndim != 2:
        raise HistogramError(f"Tokens have {steps.ndim} dimensions; (steps, ranks) are expected.")
    busy = steps[steps.any(axis=1)]
    return StepHistogram.from_batches(
        _demand(busy, rule), unit=SizeUnit.TOKENS, duration_s=duration_s, source=source
    )


def independent_max(histogram: StepHistogram, ranks: int) -> StepHistogram:
    """The same for ranks known only one by one: largest of `ranks` independent draws.

    An assumption: ranks that share a load balancer rise and fall together, which pads less.
    Raises HistogramError.
    """
    if histogram.total_steps == 0 or ranks < 1:
        raise HistogramError("Give a histogram with steps, and 1 rank or more.")
    below = np.cumsum(histogram.steps) / histogram.total_steps
    share = np.diff(below**ranks, prepend=0.0)
    counts = np.rint(share * histogram.total_steps).astype(np.int64)
    keep = counts > 0
    return StepHistogram(
        histogram.sizes[keep],
        counts[keep],
        unit=histogram.unit,
        duration_s=histogram.duration_s,
        source=f"{histogram.source}; largest of {ranks} independent ranks (assumed)".lstrip("; "),
    )
