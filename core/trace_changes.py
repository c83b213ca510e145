"""What-if changes of a trace: more load, a prefix cache that hits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from core.errors import SettingError
from core.records import Trace


def scaled_arrivals(trace: Trace, load_factor: float) -> Trace:
    """The same requests arriving `load_factor` times as fast.

    Raises SettingError.
    """
    if not (math.isfinite(load_factor) and load_factor > 0):
        raise SettingError(f"The load factor is {load_factor}; it must be above 0.")
    if trace.arrival_s is None:
        raise SettingError("The trace has no arrival times to scale; give it a rate first.")
    return replace(trace, arrival_s=trace.arrival_s / load_factor)


def with_prefix_hit_rate(trace: Trace, rate: float) -> Trace:
    """The same requests with this share of every prompt in the prefix cache.

    Raises SettingError.
    """
    if not 0.0 <= rate <= 1.0:
        raise SettingError(f"The prefix hit rate is {rate}; it must be between 0 and 1.")
    hits = np.floor(trace.prompt_tokens * rate).astype(np.int64)
    return replace(trace, prefix_hit_tokens=hits)
