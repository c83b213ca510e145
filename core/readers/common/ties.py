"""Order and ties of arrivals, a stretch at a time, so that long traces need no copies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.records import FloatArray

STRETCH = 1 << 20


def _stretches(arrival_s: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Neighbours (before, after) of (n,) arrivals."""
    for start in range(0, len(arrival_s) - 1, STRETCH):
        end = min(start + STRETCH, len(arrival_s) - 1)
        yield arrival_s[start:end], arrival_s[start + 1 : end + 1]


def backward_steps(arrival_s: FloatArray) -> int:
    """How many arrivals lie before the one in front of them."""
    return sum(int((after < before).sum()) for before, after in _stretches(arrival_s))


def tie_counts(arrival_s: FloatArray) -> tuple[int, int]:
    """(distinct arrivals, requests that share theirs) of (n,) sorted arrivals."""
    if len(arrival_s) == 0:
        return 0, 0
    distinct, alone, tied_before = 1, 0, False
    for before, after in _stretches(arrival_s):
        tied = after == before
        distinct += len(tied) - int(tied.sum())
        with_left = np.concatenate(([tied_before], tied[:-1]))
        alone += int((~with_left & ~tied).sum())
        tied_before = bool(tied[-1])
    return distinct, len(arrival_s) - alone - (not tied_before)
