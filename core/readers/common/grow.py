"""Columns that grow by blocks, in place: ten million numbers cost 80 MB and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import FileContentError
from core.records import FloatArray, IntArray

FIRST_ROWS = 1 << 16
GUESS_ROWS = 12_000_000
MAX_ROWS = 50_000_000
"""More requests than this would take gigabytes, and no histogram gains from them."""


class _Column:
    """Memory that is not yet filled is not yet taken from the system, so a generous guess is free.

    expected_rows : a guess; a wrong one costs a copy
    """

    dtype: Any = np.int64

    def __init__(self, expected_rows: int = 0) -> None:
        rows = min(max(expected_rows, FIRST_ROWS), GUESS_ROWS)
        self._array = np.empty(rows, self.dtype)
        self._rows = 0

    def add(self, values: NDArray[Any]) -> None:
        """Raises FileContentError past MAX_ROWS."""
        end = self._rows + len(values)
        if end > MAX_ROWS:
            raise FileContentError(
                f"The file holds more than {MAX_ROWS:,} requests; split it, or give a histogram "
                "of its lengths (length,count)."
            )
        if end > len(self._array):
            larger = np.empty(min(max(end, len(self._array) * 3 // 2), MAX_ROWS), self.dtype)
            larger[: self._rows] = self._array[: self._rows]
            self._array = larger
        self._array[self._rows : end] = values
        self._rows = end

    def _finish(self) -> NDArray[Any]:
        array = self._array[: self._rows]
        self._array = np.empty(0, self.dtype)
        small = 4 * self._rows < 3 * FIRST_ROWS
        return array.copy() if small else array


class IntColumn(_Column):
    """Whole numbers."""

    def finish(self) -> IntArray:
        """(n,) int64."""
        return self._finish()


class FloatColumn(_Column):
    """Numbers."""

    dtype = np.float64

    def finish(self) -> FloatArray:
        """(n,) float64."""
        return self._finish()
