"""Steps with prefill: the card's work by tokens, the least they take, and a missing graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.calibration.decode_fit import FEWEST, host_prior
from core.calibration.lockstep import StepSamples
from core.calibration.weighted import fitted
from core.padding import bucket_of
from core.records import FloatArray

ROUNDS = 8
"""Turns between which steps are on the floor and what the others cost."""
CANDIDATES = 40
"""Floors that are tried: quantiles of the steps."""
ASSUMED_LATE = 0.06
"""Share of a short step with prefill that a missing piecewise graph adds at least. Steps without
one are the longer ones, so that one run tells the two apart badly and often shows none of it.
Source: vLLM 0.23, 8B on an H200, steps of 257 to 512 tokens with and without one: 4 to 7 %."""
BASE, LATE, TOKENS, PROMPTS, PAIRS, CONTEXT, ROWS = range(7)


@dataclass(frozen=True)
class MixedFit:
    """A step with prefill takes row_us x decoding requests + the larger of floor_us and
    base + us_per_token x tokens (of its bucket, where captured) + us_per_prompt x prompts
    + us_per_pair x pairs + context_us x context, and late_us more without a graph.

    late_seen : whether the steps show late_us; else it is assumed
    """

    coefficients: FloatArray
    floor_us: float
    spread: float
    steps: int
    late_seen: bool

    def __getitem__(self, term: int) -> float:
        return float(self.coefficients[term])


def mixed_terms(
    samples: StepSamples, capture_sizes: Sequence[int]
) -> tuple[FloatArray, np.ndarray]:
    """(m, 7) columns in the order of the names above, and (m,) which steps have no graph."""
    no_graph = np.ones(len(samples), bool)
    tokens = samples.tokens
    if capture_sizes:
        bucket = bucket_of(tokens, capture_sizes)
        no_graph = bucket < 0
        tokens = np.where(no_graph, tokens, bucket)
    late = no_graph.astype(np.float64)
    columns = (np.ones(len(tokens)), late, tokens, samples.prompts, samples.pairs, samples.context)
    return np.column_stack([*columns, samples.rows]).astype(np.float64), no_graph


def fit_mixed(samples: StepSamples, capture_sizes: Sequence[int]) -> MixedFit | None:
    """Fitted to the steps with prefill; None where they are fewer than 20.

    capture_sizes : of the engine that ran; empty: no step had a graph
    """
    mixed = samples.where(samples.tokens > 0)
    if len(mixed) < FEWEST:
        return None
    terms, no_graph = mixed_terms(mixed, capture_sizes)
    seen = min(int(no_graph.sum()), int((~no_graph).sum())) >= FEWEST
    least = ASSUMED_LATE * float(np.percentile(mixed.us, 25))
    if seen:
        free = _fitted(terms, mixed.us)
        if free[LATE] >= least:
            return replace(free, late_seen=True)
    fixed = terms.copy()
    fixed[:, LATE] = 0.0
    held = _fitted(fixed, np.maximum(mixed.us - least * terms[:, LATE], 1.0))
    coefficients = held.coefficients.copy()
    coefficients[LATE] = least
    return replace(held, coefficients=coefficients)


def _fitted(terms: FloatArray, us: FloatArray) -> MixedFit:
    """The best of some turns between the floor and what lies above it."""
    best: MixedFit | None = None
    off_floor = np.ones(len(us), bool)
    for _ in range(ROUNDS):
        if best is not None and off_floor.sum() < FEWEST:
            break
        prior = (host_prior(ROWS, us),)
        found = fitted(list(terms[off_floor].T), us[off_floor], priors=prior)
        fit, off_floor = _with_floor(found, terms, us)
        if best is None or fit.spread < best.spread:
            best = fit
    assert best is not None
    return best


def _with_floor(
    found: FloatArray, terms: FloatArray, us: FloatArray
) -> tuple[MixedFit, np.ndarray]:
    """The fit with the floor that goes with it, and which steps lie above that."""
    host, late = terms[:, ROWS] * found[ROWS], terms[:, LATE] * found[LATE]
    card = terms[:, :ROWS] @ found[:ROWS] - late
    floor = _floor(us - host - late, card)
    predicted = host + late + np.maximum(card, floor)
    spread = float(np.sqrt(np.mean((predicted / us - 1) ** 2)))
    return MixedFit(found, floor, spread, len(us), False), card >= floor


def _floor(us: FloatArray, card: FloatArray) -> float:
    """The least time that explains the steps best beside the card's work [us]."""
    tried = np.r_[0.0, np.quantile(us, np.linspace(0, 1, CANDIDATES))]
    positive = np.maximum(us, 1.0)
    errors = [np.abs(np.maximum(card, floor) / positive - 1).mean() for floor in tried]
    return float(max(0.0, tried[int(np.argmin(errors))]))
