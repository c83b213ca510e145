"""What a padded row may touch: slots as indices, metadata for every row, and values in a scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import SettingError


@dataclass(frozen=True)
class SlotHit:
    """Where a slot number lands when it is used as an index: floor division, modulo, and indices
    below 0 counted from the end."""

    block: int
    wrapped_block: int
    offset: int
    physical_slot: int


def slot_hit(slot: int, num_blocks: int, block_size: int) -> SlotHit:
    """-1 // 16 = -1 and -1 % 16 = 15: the last slot of the last block. Raises SettingError."""
    if num_blocks < 1 or block_size < 1:
        raise SettingError(f"{num_blocks} blocks of {block_size} slots; give 1 or more of each.")
    block, offset = divmod(slot, block_size)
    wrapped = block % num_blocks
    return SlotHit(block, wrapped, offset, wrapped * block_size + offset)


def rows_out_of_bounds(bucket: int, metadata_rows: int) -> int:
    """Rows that a graph of `bucket` rows reads beyond metadata of so many."""
    return max(0, bucket - metadata_rows)


def largest_magnitude(rows: Sequence[float], bucket: int, pad_value: float) -> float:
    """The scale's input over all rows of the bucket, padding included. Raises SettingError."""
    if len(rows) > bucket:
        raise SettingError(f"{len(rows)} rows do not fit a bucket of {bucket}.")
    padded = np.array([*rows, *[pad_value] * (bucket - len(rows))])
    return math.nan if np.isnan(padded).any() else float(np.abs(padded).max(initial=0.0))
