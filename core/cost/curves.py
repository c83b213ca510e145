"""The curves that a step time may follow, each never falling, and how each is fitted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.records import FloatArray

STAIRS = (8, 16, 32, 64, 128)
"""Rows a tile of the usual matrix kernels covers: where step time may jump."""

BENDS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 1024, 2048)
"""Where a step may turn from bound by memory to bound by computing, and so grow faster."""

OUTLIER_SIGMAS = 5.0
"""Residuals beyond so many robust standard deviations are no noise of the rest."""
MAD_SIGMA = 1.4826
"""Standard deviation over median absolute deviation (normal)."""
REWEIGHTINGS = 3


def _affine_terms(x: FloatArray, top: float) -> FloatArray:
    """Columns 1, x: (n, 2)."""
    return np.column_stack([np.ones(len(x)), x])


def _bend_terms(x: FloatArray, top: float) -> FloatArray:
    """Those and, for each bend that the points can see, what x exceeds it by: (n, p)."""
    bends = [bend for bend in BENDS if 1.5 * bend <= top]
    return np.column_stack([_affine_terms(x, top), *(np.maximum(0, x - bend) for bend in bends)])


def _stair_terms(x: FloatArray, top: float) -> FloatArray:
    """Columns 1, x and, for each stair that the points can see, ceil(x / step): (n, p)."""
    steps = [step for step in STAIRS if 2 * step <= top]
    return np.column_stack([_affine_terms(x, top), *(np.ceil(x / step) for step in steps)])


def nonnegative_least_squares(terms: FloatArray, values: FloatArray) -> FloatArray:
    """Coefficients of 0 or more that fit best: (p,). So a sum of rising terms never falls.

    Source: Lawson and Hanson, Solving Least Squares Problems, chapter 23.
    """
    scale = np.linalg.norm(terms, axis=0)
    a = terms / scale
    x = np.zeros(a.shape[1])
    free = np.zeros(len(x), bool)
    for _ in range(10 * len(x) + 10):
        gradient = a.T @ (values - a @ x)
        gradient[free] = -np.inf
        best = int(np.argmax(gradient))
        if gradient[best] <= 1e-12 * np.linalg.norm(values):
            break
        free[best] = True
        while True:
            trial = np.zeros(len(x))
            trial[free] = np.linalg.lstsq(a[:, free], values, rcond=None)[0]
            low = free & (trial <= 0)
            if not low.any():
                break
            step = float(np.min(x[low] / (x[low] - trial[low] + 1e-300)))
            x = x + step * (trial - x)
            free &= x > 1e-14 * max(1.0, float(np.abs(x).max()))
            x[~free] = 0.0
        x = trial
    return x / scale


def isotonic(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The closest never falling sequence, by pooling adjacent violators: (n,)."""
    levels: list[list[float]] = []  # mean, weight, count
    for i, value in enumerate(values):
        levels.append([float(value), 1.0 if weights is None else float(weights[i]), 1])
        while len(levels) > 1 and levels[-2][0] > levels[-1][0]:
            mean, weight, count = levels.pop()
            last = levels[-1]
            last[0] = (last[0] * last[1] + mean * weight) / (last[1] + weight)
            last[1] += weight
            last[2] += count
    return np.repeat([level[0] for level in levels], [int(level[2]) for level in levels])


Predict = Callable[[FloatArray], FloatArray]
"""Sizes (n,) -> times (n,)."""
Fit = Callable[[FloatArray, FloatArray, float], Predict]
"""Sizes, times and the largest size of all -> the curve."""


def robust_spread(residuals: FloatArray) -> float:
    """Standard deviation that a few wild values do not move."""
    return MAD_SIGMA * float(np.median(np.abs(residuals)))


def _linear(
    terms: Callable[[FloatArray, float], FloatArray], x: FloatArray, y: FloatArray, top: float
) -> Predict:
    """Least squares of relative errors, in which wild points count less (Huber's weights).

    Relative: a 1 % error of a short step matters like one of a long step.
    """
    columns, weights = terms(x, top) / y[:, None], np.ones(len(y))
    coefficients = nonnegative_least_squares(columns, weights)
    for _ in range(REWEIGHTINGS):
        errors = np.abs(columns @ coefficients - 1.0)
        spread = robust_spread(errors)
        if spread == 0 or errors.max() <= OUTLIER_SIGMAS * spread:
            break
        weights = np.sqrt(np.minimum(1.0, 1.5 * spread / np.maximum(errors, 1e-300)))
        coefficients = nonnegative_least_squares(columns * weights[:, None], weights)
    return lambda at: terms(at, top) @ coefficients


def _fit_affine(x: FloatArray, y: FloatArray, top: float) -> Predict:
    return _linear(_affine_terms, x, y, top)


def _fit_bends(x: FloatArray, y: FloatArray, top: float) -> Predict:
    return _linear(_bend_terms, x, y, top)


def _fit_stairs(x: FloatArray, y: FloatArray, top: float) -> Predict:
    return _linear(_stair_terms, x, y, top)


def _fit_isotonic(x: FloatArray, y: FloatArray, top: float) -> Predict:
    level = isotonic(y, 1.0 / y**2)
    return line(x, level)


def line(x: FloatArray, level: FloatArray) -> Predict:
    """Straight between points, flat below the first, the mean slope above the last."""
    slope = max(0.0, (level[-1] - level[0]) / (x[-1] - x[0])) if len(x) > 1 else 0.0
    return lambda at: np.interp(at, x, level) + slope * np.maximum(0.0, at - x[-1])


FITS: tuple[tuple[str, int, Fit], ...] = (
    ("affine", 4, _fit_affine),
    ("affine + bends", 8, _fit_bends),
    ("affine + stairs", 10, _fit_stairs),
    ("isotonic", 6, _fit_isotonic),
)
"""Name, points needed, fitter; simplest first."""
