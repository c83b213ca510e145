"""Values by step size, put together in bins where there are too many sizes to draw apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.records import FloatArray, IntArray

MAX_BINS = 128
"""Bars that a screen tells apart."""


@dataclass(frozen=True)
class SizeBins:
    """Sums over the step sizes from first to last of each bin.

    first, last : (b,) [unit]; equal where a bin is one size
    sums : one (b,) for each series, in the order given
    """

    first: IntArray
    last: IntArray
    sums: tuple[FloatArray, ...]

    @property
    def labels(self) -> list[str]:
        """ "size 3" or "sizes 1 to 64", one a bin."""
        return [
            f"size {a:,}" if a == b else f"sizes {a:,} to {b:,}"
            for a, b in zip(self.first.tolist(), self.last.tolist(), strict=True)
        ]


def size_bins(sizes: IntArray, *series: NDArray, max_bins: int = MAX_BINS) -> SizeBins:
    """At most max_bins bins of equal width; one a size where there are no more sizes than that.

    sizes : (m,) strictly ascending; series : (m,) each
    Nothing is lost: the sums over all bins are those over all sizes.
    """
    if len(sizes) <= max_bins:
        return SizeBins(sizes, sizes, tuple(np.asarray(values, np.float64) for values in series))
    span = int(sizes[-1] - sizes[0]) + 1
    width = -(-span // max_bins)
    used, index = np.unique((sizes - sizes[0]) // width, return_inverse=True)
    first = sizes[0] + used * width
    sums = (np.bincount(index, weights=v, minlength=len(used)) for v in series)
    return SizeBins(first, first + width - 1, tuple(s.astype(np.float64) for s in sums))
