"""Arrivals and lengths made by a seeded generator: the built-in example, and rates for lengths."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from core.errors import SettingError
from core.records import FloatArray, IntArray, Trace

# Chat-like lengths: medians and spreads of the order seen in published conversation traces.
PROMPT_MEDIAN, PROMPT_SIGMA, PROMPT_MAX = 450.0, 1.0, 8_192
OUTPUT_MEDIAN, OUTPUT_SIGMA, OUTPUT_MAX = 160.0, 0.8, 2_048
WAVE = 0.6
"""How far the rate swings around its mean, as a share of it; two waves over the trace."""
BURST_SHARE, BURST_GAP_S = 0.15, 0.05
"""Share of requests that follow another within BURST_GAP_S on average, as agents' calls do."""


def example_trace(seed: int = 0, num_requests: int = 2000, rate_rps: float = 4.0) -> Trace:
    """A synthetic chat-like trace: lognormal lengths, a rate in waves, bursts.

    Not drawn from any real trace; its name says so.
    Raises SettingError.
    """
    _check(num_requests, rate_rps)
    rng = np.random.default_rng(seed)
    prompt = _lognormal(rng, num_requests, PROMPT_MEDIAN, PROMPT_SIGMA, PROMPT_MAX)
    output = _lognormal(rng, num_requests, OUTPUT_MEDIAN, OUTPUT_SIGMA, OUTPUT_MAX)
    return Trace(
        prompt,
        output,
        _waves(rng, num_requests, rate_rps),
        name=f"example (synthetic, seed {seed})",
    )


def _check(num_requests: int, rate_rps: float) -> None:
    if num_requests < 1:
        raise SettingError(f"num_requests is {num_requests}; it must be 1 or more.")
    if not (math.isfinite(rate_rps) and rate_rps > 0):
        raise SettingError(f"rate_rps is {rate_rps}; a request rate must be above 0.")


def _lognormal(
    rng: np.random.Generator, count: int, median: float, sigma: float, largest: int
) -> IntArray:
    lengths = np.rint(rng.lognormal(math.log(median), sigma, count))
    return np.clip(lengths, 1, largest).astype(np.int64)


def _waves(rng: np.random.Generator, count: int, rate_rps: float) -> FloatArray:
    """Arrivals whose rate swings as a sine and which come partly in bursts; mean `rate_rps`.

    Unit-rate arrivals are mapped through the inverse of the accumulated rate.
    """
    unit = np.cumsum(rng.exponential(1.0, count))
    unit -= unit[0]
    span = count / rate_rps
    grid = np.linspace(0.0, span, 4097)
    omega = 4 * math.pi / span
    accumulated = rate_rps * (grid + WAVE / omega * (1 - np.cos(omega * grid)))
    at = np.interp(unit * (count / max(float(unit[-1]), 1.0)), accumulated, grid)
    follows = np.flatnonzero(rng.random(count - 1) < BURST_SHARE) + 1
    for i in follows.tolist():
        at[i] = at[i - 1] + rng.exponential(BURST_GAP_S)
    at = np.sort(at)
    return at - at[0]


def poisson_arrivals(lengths: Trace, *, rate_rps: float, seed: int = 0) -> Trace:
    """The requests of a trace, in their order, arriving at random at a mean rate.

    Raises SettingError.
    """
    return gamma_arrivals(lengths, rate_rps=rate_rps, cv=1.0, seed=seed)


def gamma_arrivals(lengths: Trace, *, rate_rps: float, cv: float = 1.0, seed: int = 0) -> Trace:
    """The same with Gamma-distributed gaps.

    cv : standard deviation of a gap over its mean; 1 is Poisson, above it bursts, 0 a metronome
    Raises SettingError.
    """
    _check(len(lengths), rate_rps)
    if not (math.isfinite(cv) and cv >= 0):
        raise SettingError(f"cv is {cv}; it must be 0 (even gaps) or more (1 is Poisson).")
    rng = np.random.default_rng(seed)
    if cv == 0:
        gaps = np.full(len(lengths), 1.0 / rate_rps)
    else:
        gaps = rng.gamma(1.0 / cv**2, cv**2 / rate_rps, len(lengths))
    at = np.cumsum(gaps)
    return replace(lengths, arrival_s=at - at[0])
