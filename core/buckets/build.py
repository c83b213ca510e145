"""From a histogram, a step cost and the user's limits to a Problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.buckets.problem import EXACT_FLOAT, MICROSECONDS, PADDED_SLOTS, Dispatch, Problem
from core.errors import CaptureSizesError, CostUnitError, HistogramError, SettingError
from core.records import FloatArray, IntArray, StepCost, StepHistogram, normalised_sizes
from core.step_cost import check_units, eager_us_at, graph_step_us_at

Price = float | Callable[[IntArray], FloatArray]
"""What each bucket costs beside its replays: one number, or (n,) sizes -> (n,) prices."""


@dataclass(frozen=True)
class Limits:
    """What a set must keep to.

    candidates : sizes that may be captured; None = the observed ones (and, where a cost has
        dips, its own points)
    multiple_of : every chosen size is a multiple, e.g. of tensor parallel or 1 + draft tokens
    include : captured in any case, also where they are no multiple or not allowed otherwise
    allow_eager : sizes above the largest graph may run eager
    dispatch : CHEAPER if the engine runs a step eagerly where that is faster than its bucket
    """

    candidates: tuple[int, ...] | None = None
    multiple_of: int = 1
    include: tuple[int, ...] = ()
    allow_eager: bool = False
    dispatch: Dispatch = Dispatch.PAD_UP

    def __post_init__(self) -> None:
        multiple = self.multiple_of
        if isinstance(multiple, bool) or int(multiple) != multiple or multiple < 1:
            raise SettingError(f"Sizes must be multiples of {multiple}; give 1 or more.")
        if self.candidates is not None:
            object.__setattr__(self, "candidates", normalised_sizes(self.candidates))
        include = normalised_sizes(self.include) if len(self.include) else ()
        object.__setattr__(self, "include", include)


def candidate_sizes(histogram: StepHistogram, cost: StepCost | None, limits: Limits) -> IntArray:
    """What may be captured, beside the included sizes: (n,) ascending.

    For a cost that never falls with size nothing is ever better than an observed size, rounded up
    to the multiple. Raises CaptureSizesError.
    """
    multiple = limits.multiple_of
    if limits.candidates is not None:
        allowed = np.array(limits.candidates, np.int64)
        kept = allowed[allowed % multiple == 0]
        if len(kept) == 0:
            raise CaptureSizesError(f"None of the allowed sizes is a multiple of {multiple}.")
        return kept
    sizes = -(-histogram.sizes // multiple) * multiple
    if cost is not None and (np.diff(cost.replay_us) < 0).any():
        extra = cost.sizes[cost.sizes % multiple == 0]
        sizes = np.concatenate([sizes, extra])
    return np.unique(sizes)


def build(
    histogram: StepHistogram,
    cost: StepCost | None = None,
    limits: Limits | None = None,
    price: Price = 0.0,
    *,
    keep_all: bool = False,
) -> Problem:
    """The instance for a histogram.

    cost : None counts padded slots; else time in us
    price : of each bucket, in the cost's unit: one number, or a function of the sizes
    keep_all : keep candidates that another one beats in cost alone, because memory counts too
    Raises HistogramError (no step), CaptureSizesError, SettingError, CostUnitError.
    """
    limits = limits or Limits()
    keep = histogram.steps > 0
    sizes, steps = histogram.sizes[keep], histogram.steps[keep]
    if len(sizes) == 0:
        raise HistogramError("The histogram holds no step, so there is no set to choose.")
    _check_cost(histogram, cost, limits)
    found = candidates_of(histogram, cost, limits)
    if found[-1] < sizes[-1] and not limits.allow_eager:
        raise CaptureSizesError(
            f"No capture size holds steps of {sizes[-1]}; the largest allowed is {found[-1]}. Add "
            f"{sizes[-1]} or more, or allow eager steps."
        )
    replay = found if cost is None else graph_step_us_at(cost, found)
    each = np.asarray(price(found) if callable(price) else np.full(found.shape, price), float)
    if not np.isfinite(each).all() or (each < 0).any():
        raise SettingError("The price of a bucket must be a number of 0 or more.")
    must = np.array(limits.include, np.int64)
    if keep_all or (each != each[0]).any():
        kept = (np.searchsorted(sizes, found, side="right") > 0) | np.isin(found, must)
    else:
        kept = _cheapest_per_gap(found, replay, sizes, must)
    return _assembled(found[kept], replay[kept], each[kept], sizes, steps, cost, limits)


def candidates_of(histogram: StepHistogram, cost: StepCost | None, limits: Limits) -> IntArray:
    """Every size that may be captured, the included ones among them: (n,) ascending."""
    must = np.array(limits.include, np.int64)
    return np.union1d(candidate_sizes(histogram, cost, limits), must)


def _check_cost(histogram: StepHistogram, cost: StepCost | None, limits: Limits) -> None:
    if cost is not None:
        check_units(cost, histogram.unit)
        for values in (cost.replay_us, cost.eager_us):
            if not np.isfinite(values).all() or (values < 0).any():
                raise SettingError("The step cost holds a time that is below 0 or not finite.")
    elif limits.allow_eager or limits.dispatch is Dispatch.CHEAPER:
        raise CostUnitError(
            "An eager step pads nothing, so padded slots cannot weigh it; give a step cost, or "
            "cover every size."
        )


def _cheapest_per_gap(
    found: IntArray, replay: NDArray[Any], sizes: IntArray, must: IntArray
) -> NDArray[np.bool_]:
    """Of candidates that cover the same steps keep the cheapest (the smallest of equals).

    Forced sizes all stay and split the gaps: above one, a candidate serves other steps.
    """
    covered = np.searchsorted(sizes, found, side="right")
    gap = covered * (len(must) + 1) + np.searchsorted(must, found)
    order = np.lexsort((found, replay, gap))
    first = np.ones(len(order), bool)
    first[1:] = gap[order][1:] != gap[order][:-1]
    keep = np.zeros(len(found), bool)
    keep[order[first]] = True
    return (keep & (covered > 0)) | np.isin(found, must)


def _assembled(
    found: IntArray,
    replay: NDArray[Any],
    price: FloatArray,
    sizes: IntArray,
    steps: IntArray,
    cost: StepCost | None,
    limits: Limits,
) -> Problem:
    dtype = _cost_type(found, price, sizes, steps, cost)
    covered = np.concatenate([[0], np.searchsorted(sizes, found, side="right")])
    eager = None if cost is None else eager_us_at(cost, sizes)
    above = np.zeros(len(found) + 1, dtype)
    if eager is not None and limits.allow_eager:
        tail = np.concatenate([np.cumsum((eager * steps)[::-1])[::-1], np.zeros(1)])
        above = tail[covered]
    else:
        above[covered < len(sizes)] = np.inf
    zero = np.zeros(1, dtype)
    return Problem(
        np.concatenate([[0], found]).astype(np.int64),
        np.concatenate([zero, replay.astype(dtype)]),
        covered.astype(np.int64),
        above,
        np.concatenate([zero, price.astype(dtype)]),
        np.concatenate([[False], np.isin(found, np.array(limits.include, np.int64))]),
        sizes.astype(dtype),
        steps.astype(dtype),
        eager,
        limits.dispatch,
        PADDED_SLOTS if cost is None else MICROSECONDS,
    )


def _cost_type(
    found: IntArray, price: FloatArray, sizes: IntArray, steps: IntArray, cost: StepCost | None
) -> Any:
    """float64, or Python integers where padded slots would lose digits in it."""
    if cost is not None:
        return np.float64
    top = float(max(found[-1] if len(found) else 0, sizes[-1]))
    whole = bool((price == np.floor(price)).all())
    return object if whole and top * float(steps.sum(dtype=float)) >= EXACT_FLOAT else np.float64
