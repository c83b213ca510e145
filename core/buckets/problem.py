"""The choice of a bucket set as a layered shortest path: candidates, costs, what stays eager.

Candidates c_1 < ... < c_m; index 0 stands for "nothing captured". With H(j, i) the cost of all
steps of size <= c_i if each ran at bucket j, the set j_1 < ... < j_k costs

    sum_t [ H(j_t, j_t) - H(j_t, j_(t-1)) + price[j_t] ]  +  above[j_k]

where above[j] is the cost of everything larger run eager. Padding up: H(j, i) = f[j] W[i], with
f[j] the cost of one replay at c_j and W[i] the steps of size <= c_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.records import FloatArray, IntArray

PADDED_SLOTS = "padded slots"
MICROSECONDS = "us"

EXACT_FLOAT = 2**53
"""Whole numbers below this are exact in float64."""


class Dispatch(StrEnum):
    """What a step does that a graph could hold."""

    PAD_UP = "pad up"
    CHEAPER = "the cheaper of graph and eager"


@dataclass(frozen=True)
class Problem:
    """One instance; arrays over candidates have index 0 = nothing captured.

    candidates : (m,) int64, strictly ascending from 0 [unit]
    replay : (m,) f, cost of one replay [slots or us]
    covered : (m,) how many of the observed sizes are that large or smaller
    above : (m,) cost of everything larger run eager; inf where it must be covered
    price : (m,) cost of having the bucket at all [same unit]
    forced : (m,) must be captured
    sizes, steps : (n,) the observed sizes and how often each occurs
    eager : (n,) cost of one step of each size run eager, or None
    Costs are float64 while exact, else Python integers (dtype object).
    """

    candidates: IntArray
    replay: NDArray[Any]
    covered: IntArray
    above: NDArray[Any]
    price: NDArray[Any]
    forced: NDArray[np.bool_]
    sizes: NDArray[Any]
    steps: NDArray[Any]
    eager: FloatArray | None
    dispatch: Dispatch
    unit: str

    def __len__(self) -> int:
        return len(self.candidates)

    @cached_property
    def below(self) -> NDArray[Any]:
        """W: (m,) steps of that size or smaller."""
        return self.running(self.steps)[self.covered]

    @cached_property
    def useful(self) -> NDArray[Any]:
        """(m,) useful slots of all steps of that size or smaller."""
        return self.running(self.sizes * self.steps)[self.covered]

    @cached_property
    def total_steps(self) -> Any:
        return self.steps.sum()

    @cached_property
    def rising(self) -> bool:
        """Whether no larger candidate is cheaper: then costs are Monge and best rows ascend."""
        return bool((np.diff(self.replay[1:]) >= 0).all())

    @cached_property
    def eager_rises(self) -> bool:
        return self.eager is not None and bool((np.diff(self.eager) >= 0).all())

    @property
    def pads_up(self) -> bool:
        return self.dispatch is Dispatch.PAD_UP

    @staticmethod
    def running(values: NDArray[Any]) -> NDArray[Any]:
        """Sums of the first 0, 1, ... values."""
        return np.concatenate([np.zeros(1, values.dtype), np.cumsum(values)])

    @cached_property
    def _eager_running(self) -> FloatArray:
        assert self.eager is not None
        return self.running(self.steps * self.eager)

    @cached_property
    def faster_eager(self) -> IntArray:
        """(m,) how many of the smallest sizes are cheaper eager than at each candidate.

        Meaningful where eager costs rise with size.
        """
        assert self.eager is not None
        return np.searchsorted(self.eager, self.replay.astype(float))

    def upto(self, rows: IntArray, columns: IntArray) -> NDArray[Any]:
        """H(row, column), element by element; for CHEAPER only where eager costs rise."""
        if self.pads_up:
            return self.replay[rows] * self.below[columns]
        ends = self.covered[columns]
        turn = np.minimum(self.faster_eager[rows], ends)
        steps = self._steps_running
        return self._eager_running[turn] + self.replay[rows] * (steps[ends] - steps[turn])

    @cached_property
    def _steps_running(self) -> NDArray[Any]:
        return self.running(self.steps)

    def upto_all(self, rows: IntArray) -> NDArray[Any]:
        """H(row, column) for every column, whatever the eager costs: (len(rows), m)."""
        if self.pads_up:
            return self.replay[rows, None] * self.below[None, :]
        assert self.eager is not None
        each = np.minimum(self.replay[rows, None], self.eager[None, :]) * self.steps[None, :]
        sums = np.cumsum(np.concatenate([np.zeros((len(rows), 1)), each], axis=1), axis=1)
        return sums[:, self.covered]

    def sizes_of(self, indices: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(self.candidates[j]) for j in indices)
