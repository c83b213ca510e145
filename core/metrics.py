"""Latency of requests: TTFT, TPOT, ITL, end to end, percentiles, goodput; the only definitions.

TTFT : arrival to first token, so waiting in the queue is in it.
TPOT : (last - first token) / (output tokens - 1), one number a request; of two tokens or more.
ITL : one gap between two output tokens of a request; kept as a distribution.
end to end (E2E) : arrival to last token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import SettingError
from core.records import FloatArray, IntArray


@dataclass(frozen=True)
class Percentiles:
    """Of a distribution; None where it is empty. `count` values went in."""

    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    max: float | None
    count: int


def percentiles(values: FloatArray, scale: float = 1.0) -> Percentiles:
    """Percentiles of the values that are not NaN, linear between ranks, each times `scale`."""
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)] * scale
    if len(known) == 0:
        return Percentiles(None, None, None, None, None, None, 0)
    p50, p90, p95, p99 = np.percentile(known, [50, 90, 95, 99]).tolist()
    return Percentiles(p50, p90, p95, p99, float(known.mean()), float(known.max()), len(known))


def weighted_percentiles(values: FloatArray, counts: IntArray, scale: float = 1.0) -> Percentiles:
    """The same of values that occur `counts` times: the smallest value with that share below it.

    values : (m,) ascending; counts : (m,) >= 0.
    """
    total = int(counts.sum())
    if total == 0:
        return Percentiles(None, None, None, None, None, None, 0)
    below = np.cumsum(counts)
    ranks = np.ceil(np.array([0.50, 0.90, 0.95, 0.99]) * total)
    p50, p90, p95, p99 = (values[np.searchsorted(below, ranks)] * scale).tolist()
    mean = float((values * counts).sum() / total) * scale
    top = float(values[np.flatnonzero(counts)[-1]]) * scale
    return Percentiles(p50, p90, p95, p99, mean, top, total)


def ttft_s(arrival_s: FloatArray, first_token_s: FloatArray) -> FloatArray:
    """(n,) [s]; NaN where there was no token."""
    return first_token_s - arrival_s


def tpot_s(first_token_s: FloatArray, finish_s: FloatArray, output_tokens: IntArray) -> FloatArray:
    """(n,) [s]; NaN where fewer than two tokens came out."""
    gaps = np.where(output_tokens >= 2, output_tokens - 1, 1)
    return np.where(output_tokens >= 2, (finish_s - first_token_s) / gaps, np.nan)


def e2e_s(arrival_s: FloatArray, finish_s: FloatArray) -> FloatArray:
    """(n,) [s]; NaN where the request was not served."""
    return finish_s - arrival_s


def meets_limits(
    ttft: FloatArray,
    tpot: FloatArray,
    *,
    ttft_limit_s: float | None = None,
    tpot_limit_s: float | None = None,
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) whether a request was served within the limits; no TPOT counts as met.

    Raises SettingError if a limit is not above 0.
    """
    for name, limit in (("ttft_limit_s", ttft_limit_s), ("tpot_limit_s", tpot_limit_s)):
        if limit is not None and not limit > 0:
            raise SettingError(f"{name} is {limit}; a limit must be above 0.")
    good = ~np.isnan(ttft)
    if ttft_limit_s is not None:
        good &= ttft <= ttft_limit_s
    if tpot_limit_s is not None:
        good &= np.isnan(tpot) | (tpot <= tpot_limit_s)
    return good
