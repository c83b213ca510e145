"""The choice of a bucket set as a layered shortest path: candidates, prices, what stays eager.

Candidates c_1 < ... < c_m; index 0 stands for "nothing captured". With W[j] steps of size <= c_j
and f[j] the cost of one replay at c_j, the set j_1 < ... < j_k costs

    sum_t f[j_t] (W[j_t] - W[j_(t-1)])  +  A[j_k],    A[j] = cost of all sizes above c_j run eager.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import CaptureSizesError, CostUnitError, HistogramError, SettingError
from core.records import IntArray, StepCost, StepHistogram, normalised_sizes
from core.step_cost import check_units, eager_us_at, graph_step_us_at

PADDED_SLOTS = "padded slots"
MICROSECONDS = "us"

EXACT_FLOAT = 2**53
"""Whole numbers below this are exact in float64."""


@dataclass(frozen=True)
class Problem:
    """One instance; every array has index 0 = nothing captured.

    candidates : (m,) int64, strictly ascending from 0 [unit]
    price : (m,) f, cost of one replay [slots or us]
    below : (m,) W, steps of that size or smaller [steps]
    above : (m,) A, cost of everything larger run eager; inf where it must be covered
    forced : (m,) must be captured
    Arrays are float64 while exact, else Python integers (dtype object).
    """

    candidates: IntArray
    price: NDArray[Any]
    below: NDArray[Any]
    above: NDArray[Any]
    forced: NDArray[np.bool_]
    unit: str

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def monotone(self) -> bool:
        """Whether no larger candidate is cheaper: then the cost is Monge (concave in index)."""
        return bool((np.diff(self.price[1:]) >= 0).all()) if len(self) > 2 else True

    def sizes_of(self, indices: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(self.candidates[j]) for j in indices)


def candidate_sizes(
    histogram: StepHistogram,
    cost: StepCost | None,
    candidates: Sequence[int] | IntArray | None,
    multiple_of: int,
) -> IntArray:
    """What may be captured: (n,) ascending.

    By default the observed sizes, rounded up to the multiple: for a cost that never falls with
    size no other size is ever better. A cost with dips adds its own points.
    Raises SettingError, CaptureSizesError.
    """
    if isinstance(multiple_of, bool) or int(multiple_of) != multiple_of or multiple_of < 1:
        raise SettingError(f"Sizes must be multiples of {multiple_of}; give 1 or more.")
    if candidates is not None:
        allowed = np.array(normalised_sizes(candidates), np.int64)
        kept = allowed[allowed % multiple_of == 0]
        if len(kept) == 0:
            raise CaptureSizesError(f"None of the allowed sizes is a multiple of {multiple_of}.")
        return kept
    sizes = -(-histogram.sizes // multiple_of) * multiple_of
    if cost is not None and (np.diff(cost.replay_us) < 0).any():
        extra = cost.sizes[cost.sizes % multiple_of == 0]
        sizes = np.concatenate([sizes, extra])
    return np.unique(sizes)


def build(
    histogram: StepHistogram,
    *,
    cost: StepCost | None = None,
    candidates: Sequence[int] | IntArray | None = None,
    multiple_of: int = 1,
    include: Sequence[int] = (),
    allow_eager: bool = False,
) -> Problem:
    """The instance for a histogram.

    cost : None counts padded slots; else time in us
    include : sizes captured in any case, also where they are no multiple or not allowed otherwise
    allow_eager : sizes above the largest graph may run eager (needs a cost)
    Raises HistogramError (no step), CaptureSizesError, SettingError, CostUnitError.
    """
    keep = histogram.steps > 0
    sizes, steps = histogram.sizes[keep], histogram.steps[keep]
    if len(sizes) == 0:
        raise HistogramError("The histogram holds no step, so there is no set to choose.")
    if cost is None and allow_eager:
        raise CostUnitError(
            "An eager step pads nothing, so padded slots cannot weigh it; give a step cost, or "
            "cover every size."
        )
    if cost is not None:
        check_units(cost, histogram.unit)
    allowed = candidate_sizes(histogram, cost, candidates, multiple_of)
    must = np.array(normalised_sizes(include) if len(include) else (), np.int64)
    found = np.union1d(allowed, must)
    price = found if cost is None else graph_step_us_at(cost, found)
    if found[-1] < sizes[-1] and not allow_eager:
        raise CaptureSizesError(
            f"No capture size holds steps of {sizes[-1]}; the largest allowed is {found[-1]}. Add "
            f"{sizes[-1]} or more, or allow eager steps."
        )
    found, price, covered = _cheapest_per_gap(found, price, sizes, must)
    return _assembled(found, price, covered, sizes, steps, must, cost, allow_eager)


def _cheapest_per_gap(
    found: IntArray, price: NDArray[Any], sizes: IntArray, must: IntArray
) -> tuple[IntArray, NDArray[Any], IntArray]:
    """Of candidates that cover the same steps keep the cheapest (the smallest of equals).

    Forced sizes all stay and split the gaps: above one, a candidate serves other steps.
    """
    covered = np.searchsorted(sizes, found, side="right")
    gap = covered * (len(must) + 1) + np.searchsorted(must, found)
    order = np.lexsort((found, price, gap))
    first = np.ones(len(order), bool)
    first[1:] = gap[order][1:] != gap[order][:-1]
    keep = np.zeros(len(found), bool)
    keep[order[first]] = True
    keep &= covered > 0
    keep |= np.isin(found, must)
    return found[keep], price[keep], covered[keep]


def _assembled(
    found: IntArray,
    price: NDArray[Any],
    covered: IntArray,
    sizes: IntArray,
    steps: IntArray,
    must: IntArray,
    cost: StepCost | None,
    allow_eager: bool,
) -> Problem:
    bound = float(max(abs(price.max(initial=0)), sizes[-1])) * float(steps.sum(dtype=float))
    dtype = object if cost is None and bound >= EXACT_FLOAT else np.float64
    counts = steps.astype(dtype)
    below = np.concatenate([np.zeros(1, dtype), np.cumsum(counts)])[np.r_[0, covered]]
    above = np.zeros(len(found) + 1, dtype)
    if cost is not None and allow_eager:
        eager = eager_us_at(cost, sizes) * steps
        tail = np.concatenate([np.cumsum(eager[::-1])[::-1], np.zeros(1)])
        above = tail[np.r_[0, covered]]
    else:
        above[np.r_[0, covered] < len(sizes)] = np.inf
    forced = np.concatenate([np.zeros(1, bool), np.isin(found, must)])
    return Problem(
        np.concatenate([np.zeros(1, np.int64), found]),
        np.concatenate([np.zeros(1, dtype), price.astype(dtype)]),
        below,
        above,
        forced,
        PADDED_SLOTS if cost is None else MICROSECONDS,
    )
