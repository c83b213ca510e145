"""Fitting sums of rising terms to times: relative errors, wild steps count less, priors welcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.cost.curves import nonnegative_least_squares
from core.records import FloatArray

REWEIGHTINGS = 15
ALIKE = 50
"""Steps in a row are off alike (one load, one host): so many count as one beside a prior."""


@dataclass(frozen=True)
class Prior:
    """What is known of one coefficient before any step is seen.

    term : its column; value, sd : its likely value and how far off that may be
    """

    term: int
    value: float
    sd: float


def fitted(
    terms: Sequence[FloatArray] | FloatArray,
    us: FloatArray,
    weights: FloatArray | None = None,
    priors: Sequence[Prior] = (),
    trusted: float = 0.1,
) -> FloatArray:
    """Coefficients of 0 or more: (p,). Terms that never occur get 0.

    terms : p columns (n,); us : (n,) above 0; weights : (n,) how many steps each stands for
    trusted : steps further off than this share count less, the further the less (Huber)
    A prior weighs as much as its sd says beside the residuals: steps without noise overrule it.
    """
    columns = np.column_stack([np.asarray(term, np.float64) for term in terms])
    counts = np.ones(len(us)) if weights is None else weights
    used = columns.any(axis=0)
    found = np.zeros(columns.shape[1])
    trust = np.ones(len(us))
    spread = 0.0
    for _ in range(REWEIGHTINGS):
        weight = np.sqrt(trust * counts) / us
        a, b = columns[:, used] * weight[:, None], us * weight
        if priors and spread > 0:
            a, b = _with_priors(a, b, priors, np.flatnonzero(used), spread)
        found[used] = nonnegative_least_squares(a, b)
        off = np.abs(us / np.maximum(columns @ found, 1e-9) - 1)
        spread = float(np.sqrt(np.average(np.minimum(off, trusted) ** 2, weights=counts)))
        trust = np.minimum(1.0, trusted / np.maximum(off, 1e-9))
    return found


def _with_priors(
    a: FloatArray, b: FloatArray, priors: Sequence[Prior], used: np.ndarray, spread: float
) -> tuple[FloatArray, FloatArray]:
    """A row a prior, in the scale of the residuals of independent steps."""
    scale = spread * np.sqrt(ALIKE)
    rows, values = [], []
    for prior in priors:
        place = np.flatnonzero(used == prior.term)
        if len(place):
            row = np.zeros(len(used))
            row[place[0]] = scale / prior.sd
            rows.append(row)
            values.append(scale * prior.value / prior.sd)
    if not rows:
        return a, b
    return np.vstack([a, rows]), np.concatenate([b, values])
