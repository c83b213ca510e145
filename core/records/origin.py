"""The few words and array types that every record uses."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Origin(StrEnum):
    """Where a number comes from; printed beside every number shown."""

    MEASURED = "measured"
    FITTED = "fitted"
    ASSUMED = "assumed"
    ESTIMATED = "estimated"


class Grade(StrEnum):
    """What an upload can tell about step sizes (docs/formats.md)."""

    STEPS = "A"
    REQUESTS = "B"
    LENGTHS = "C"
    SUMS = "D"


class SizeUnit(StrEnum):
    """What a bucket counts."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    LENGTH = "sequence tokens"
