"""Why rows of a block are left out, decided on whole columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.readers.common.blocks import TextRule
from core.readers.common.drops import Drops


class Reasons:
    """The first reason that applies to each row of a block."""

    def __init__(self, rows: int) -> None:
        self._codes: NDArray[np.int32] | None = None
        self._rows = rows
        self._words: list[str] = []

    def mark(self, bad: NDArray[np.bool_], reason: str) -> None:
        if not bad.any():
            return
        if self._codes is None:
            self._codes = np.zeros(self._rows, np.int32)
        self._words.append(reason)
        self._codes[bad & (self._codes == 0)] = len(self._words)

    def by_text(self, column: Any, rule: TextRule) -> None:
        codes, distinct = column.factorize()
        verdicts = [rule(text) for text in distinct]
        for reason in dict.fromkeys(v for v in verdicts if v):
            self.mark(np.array([v == reason for v in verdicts])[codes], reason)

    def settle(self, line: int, drops: Drops) -> NDArray[np.bool_] | None:
        """Count the rows left out; returns those to keep, None for all."""
        if self._codes is None:
            return None
        for code, reason in enumerate(self._words, 1):
            places = np.flatnonzero(self._codes == code)
            drops.add_lines(reason, (line + places[:5]).tolist(), len(places))
        return self._codes == 0


def add_tally(column: Any, tally: dict[str, int]) -> None:
    """Count the distinct texts of a column."""
    codes, distinct = column.factorize()
    for text, number in zip(distinct, np.bincount(codes, minlength=len(distinct)), strict=True):
        tally[text] = tally.get(text, 0) + int(number)
