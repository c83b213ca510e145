"""A smooth, never falling curve through measured step times, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.errors import SettingError
from core.records import FloatArray, IntArray

STAIRS = (8, 16, 32, 64, 128)
"""Rows a tile of the usual matrix kernels covers: where step time may jump."""

FOLDS = 10
"""Cross-validation leaves out every tenth point at a time, each once."""

RESOLUTION = 1e-4
"""Relative error that no timing resolves: models this close to the best count as equal to it."""


@dataclass(frozen=True)
class CurveFit:
    """A curve through points.

    kind : "affine", "affine + stairs", "isotonic" or "points" (too few to fit)
    residuals : (m,) measured / fitted - 1, at the points
    dips : sizes where the measured value lies below a smaller size's by more than the fit's own
        residual spread: a genuine dip, or noise worth measuring again
    """

    kind: str
    sizes: IntArray
    values: FloatArray
    residuals: FloatArray
    dips: tuple[int, ...]
    predict: Callable[[FloatArray], FloatArray] = field(repr=False, compare=False)

    def at(self, sizes: Sequence[int] | IntArray) -> FloatArray:
        """The curve at any size: (n,)."""
        return self.predict(np.asarray(sizes, np.float64))

    @property
    def spread(self) -> float:
        """Root mean square of the residuals."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    @property
    def summary(self) -> str:
        """Words for captions."""
        text = f"{self.kind} fit over {len(self.sizes)} sizes, residuals {100 * self.spread:.2f} %"
        return text + (f", dips at {', '.join(map(str, self.dips))}" if self.dips else "")


def _stair_terms(x: FloatArray, top: float) -> FloatArray:
    """Columns 1, x and, for each stair that the points can see, ceil(x / step): (n, p)."""
    steps = [step for step in STAIRS if 2 * step <= top]
    return np.column_stack([np.ones(len(x)), x, *(np.ceil(x / step) for step in steps)])


def _affine_terms(x: FloatArray, top: float) -> FloatArray:
    return np.column_stack([np.ones(len(x)), x])


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


def _linear(
    terms: Callable[[FloatArray, float], FloatArray], x: FloatArray, y: FloatArray, top: float
) -> Predict:
    # Relative errors count: a 1 % error of a short step matters like one of a long step.
    coefficients = nonnegative_least_squares(terms(x, top) / y[:, None], np.ones(len(y)))
    return lambda at: terms(at, top) @ coefficients


def _fit_affine(x: FloatArray, y: FloatArray, top: float) -> Predict:
    return _linear(_affine_terms, x, y, top)


def _fit_stairs(x: FloatArray, y: FloatArray, top: float) -> Predict:
    return _linear(_stair_terms, x, y, top)


def _fit_isotonic(x: FloatArray, y: FloatArray, top: float) -> Predict:
    level = isotonic(y, 1.0 / y**2)
    return _line(x, level)


def _line(x: FloatArray, level: FloatArray) -> Predict:
    slope = max(0.0, (level[-1] - level[0]) / (x[-1] - x[0])) if len(x) > 1 else 0.0
    return lambda at: np.interp(at, x, level) + slope * np.maximum(0.0, at - x[-1])


FITS: tuple[tuple[str, int, Callable[[FloatArray, FloatArray, float], Predict]], ...] = (
    ("affine", 4, _fit_affine),
    ("affine + stairs", 10, _fit_stairs),
    ("isotonic", 6, _fit_isotonic),
)
"""Name, points needed, fitter; simplest first."""


def _held_out(
    fit: Callable[[FloatArray, FloatArray, float], Predict], x: FloatArray, y: FloatArray
) -> FloatArray:
    """Relative error at each inner point, predicted without it and its fold: (m - 2,)."""
    inner = np.arange(1, len(x) - 1)
    errors = np.empty(len(inner))
    for fold in range(min(FOLDS, len(inner))):
        left_out = inner[fold::FOLDS]
        keep = np.ones(len(x), bool)
        keep[left_out] = False
        predict = fit(x[keep], y[keep], float(x[-1]))
        errors[left_out - 1] = predict(x[left_out]) / y[left_out] - 1.0
    return errors


def fit_curve(sizes: Sequence[int] | IntArray, values: Sequence[float] | FloatArray) -> CurveFit:
    """Choose the simplest curve whose held-out error is within one standard error of the best.

    sizes : (m,) ascending [unit]; values : (m,) above 0 [us]
    Three points or fewer are joined by straight lines (made never falling).
    Raises SettingError for values that are not above 0, or sizes that do not ascend.
    """
    x, y = np.asarray(sizes, np.float64), np.asarray(values, np.float64)
    if len(x) != len(y) or len(x) == 0 or (np.diff(x) <= 0).any():
        raise SettingError("Measured sizes must ascend, with one time each.")
    if not np.isfinite(y).all() or (y <= 0).any():
        raise SettingError("A measured time is not above 0; measure that row again.")
    kind, predict = "points", _line(x, isotonic(y, 1.0 / y**2))
    scores = []
    for name, needed, fit in FITS:
        if len(x) >= needed:
            squares = _held_out(fit, x, y) ** 2
            scores.append((name, fit, float(squares.mean()), _standard_error(squares)))
    if scores:
        best = min(scores, key=lambda score: score[2])
        enough = best[2] + best[3] + RESOLUTION**2
        kind, fit, *_ = next(score for score in scores if score[2] <= enough)
        predict = fit(x, y, float(x[-1]))
    fitted = predict(x)
    residuals = y / fitted - 1.0
    return CurveFit(
        kind, x.astype(np.int64), y, residuals, _dips(x, y, float(np.std(residuals))), predict
    )


def _standard_error(squares: FloatArray) -> float:
    return float(squares.std() / np.sqrt(len(squares)))


def _dips(x: FloatArray, y: FloatArray, spread: float) -> tuple[int, ...]:
    before = np.maximum.accumulate(y)[:-1]
    # Two points differ by chance by up to about 3 standard deviations of their difference.
    low = y[1:] < before * (1.0 - 3.0 * np.sqrt(2.0) * max(spread, 1e-6))
    return tuple(int(size) for size in x[1:][low])
