"""The three ways vLLM on Gaudi lays out one dimension of its buckets.

Source: vllm-gaudi extension/bucketing/{linear,exponential,padding_aware}.py at 091bbadd, restated.
A result may hold 0, the bucket of requests without earlier context.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from core.engines.ladder import ceil_to, steps


def linear(low: int, step: int, high: int) -> tuple[int, ...]:
    """Doubling from `low` up to `step`, then multiples of `step`; 0 is kept in front."""
    first = low or step
    ramp = _doubling(first, step, high)
    return _sorted([*ramp, *steps(step, high, step), *([0] if low == 0 else [])])


def exponential(
    low: int, step: int, high: int, count: int, exact_last: bool = True
) -> tuple[int, ...]:
    """`count` sizes that grow by one factor, each rounded up to a multiple of `step`.

    exact_last : the last is `high` itself (contiguous paged attention); else it is rounded up and
        replaced by `high` when above it
    """
    first = step if low in (0, 1) else low
    sizes = [low] if low in (0, 1) else []
    if first >= high or count < 2:
        return _sorted([*sizes, high])
    for i in range(count):
        # In floating point, as the engine does: 4096 comes out a hair above and becomes 4224.
        size = math.ceil(first * (high / first) ** (i / (count - 1)) / step) * step
        last = i == count - 1
        sizes.append(high if last and exact_last else min(size, high) if last else size)
    return _sorted(n for n in sizes if n <= max(high, first))


def padding_aware(
    low: int, step: int, high: int, pad_max: int, pad_percent: int
) -> tuple[int, ...]:
    """Doubling up to `step`, then steps, of which those stay that the two padding limits ask for.

    pad_max : absolute padding that is allowed; its multiples always stay
    pad_percent : 0..50, relative padding that is allowed
    """
    kept = [0] if low == 0 else []
    kept += _doubling(low or 1, step, high)
    size = ceil_to(max(step, low), step)
    last = kept[-1] if kept else 0
    while size < high:
        following = min(size + step, high)
        padding = following - last - 1
        if (
            not kept
            or padding > pad_max
            or padding * 100 > pad_percent * following
            or size % pad_max == 0
        ):
            kept.append(size)
            last = size
        size += step
    return _sorted([*kept, high])


def _doubling(first: int, step: int, high: int) -> list[int]:
    sizes = []
    while first < step and first <= high:
        sizes.append(first)
        first *= 2
    return sizes


def _sorted(sizes: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(sizes)))


def run_time_bucket(size: int, base: int) -> int:
    """The bucket that is made at run time for a size that no bucket holds.

    base : 2 for batches, 32 for blocks, max(32, chunk) for sequences
    """
    root = round(size ** (1 / 3))
    root += root**3 < size  # ceil of the cube root, by whole numbers
    return ceil_to(size, max(root, 1) * base)
