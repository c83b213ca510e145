"""A smooth, never falling curve through measured step times, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.cost.curves import FITS, OUTLIER_SIGMAS, Fit, Predict, isotonic, line, robust_spread
from core.errors import SettingError
from core.records import FloatArray, IntArray

FOLDS = 10
"""Cross-validation leaves out every tenth point at a time, each once."""

RESOLUTION = 1e-4
"""Relative error that no timing resolves: models this close to the best count as equal to it."""

SHAPES = {
    "affine": "a straight line",
    "affine + bends": "a line with bends",
    "affine + stairs": "a line with stairs",
    "isotonic": "point to point, never falling",
    "points": "point to point (too few for a curve)",
}
"""What each kind of curve looks like, for people."""


@dataclass(frozen=True)
class CurveFit:
    """A curve through points.

    kind : "affine", "affine + bends", "affine + stairs", "isotonic", or "points" (too few to fit)
    residuals : (m,) measured / fitted - 1, at the points
    held_out : (m - 2,) the same at each inner point, by a curve fitted without it; empty where
        the points are too few
    dips : sizes where the measured value lies below a smaller size's by more than the fit's own
        residual spread: a genuine dip, or noise worth measuring again
    outliers : sizes far off the curve, which counted less: measure them again
    """

    kind: str
    sizes: IntArray
    values: FloatArray
    residuals: FloatArray
    held_out: FloatArray
    dips: tuple[int, ...]
    outliers: tuple[int, ...]
    predict: Predict = field(repr=False, compare=False)

    def at(self, sizes: Sequence[int] | IntArray) -> FloatArray:
        """The curve at any size: (n,)."""
        return self.predict(np.asarray(sizes, np.float64))

    @property
    def spread(self) -> float:
        """Root mean square of the residuals."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    @property
    def summary(self) -> str:
        """Words for captions: the curve's shape, and how far measured points lie from it."""
        text = f"{SHAPES[self.kind]}, residuals {100 * self.spread:.2f} %"
        if self.kind == "isotonic":
            # It meets every point that rises, so the residual alone would flatter it.
            missed = float(np.sqrt(np.mean(self.held_out**2)))
            text += f" ({100 * missed:.1f} % where a point was left out)"
        for words, sizes in (("dips at", self.dips), ("far off at", self.outliers)):
            if sizes:
                text += f", {words} {', '.join(map(str, sizes))}"
        return text


def _held_out(fit: Fit, x: FloatArray, y: FloatArray) -> FloatArray:
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
    kind, predict = "points", line(x, isotonic(y, 1.0 / y**2))
    errors = {name: _held_out(fit, x, y) for name, needed, fit in FITS if len(x) >= needed}
    if errors:
        kind = _simplest(errors)
        predict = next(fit for name, _, fit in FITS if name == kind)(x, y, float(x[-1]))
    residuals = y / predict(x) - 1.0
    spread = max(robust_spread(residuals), RESOLUTION)
    wild = np.abs(residuals) > OUTLIER_SIGMAS * spread
    return CurveFit(
        kind,
        x.astype(np.int64),
        y,
        residuals,
        errors.get(kind, np.empty(0)),
        _dips(x, y, spread, wild),
        tuple(int(size) for size in x[wild]),
        predict,
    )


def _simplest(errors: dict[str, FloatArray]) -> str:
    """The first whose mean square lies within one standard error of the least.

    Errors are capped alike for all, so that one wild point does not decide.
    """
    cap = OUTLIER_SIGMAS * min(robust_spread(values) for values in errors.values())
    squares = {name: np.minimum(np.abs(e), cap) ** 2 for name, e in errors.items()}
    best = min(squares.values(), key=lambda values: float(values.mean()))
    enough = best.mean() + best.std() / np.sqrt(len(best)) + RESOLUTION**2
    return next(name for name, values in squares.items() if values.mean() <= enough)


def _dips(x: FloatArray, y: FloatArray, spread: float, wild: NDArray[np.bool_]) -> tuple[int, ...]:
    """Sizes far below what a smaller, tame size took."""
    before = np.maximum.accumulate(np.where(wild, 0.0, y))[:-1]
    # Two points differ by chance by up to about 4 standard deviations of their difference.
    low = y[1:] < before * (1.0 - 4.0 * np.sqrt(2.0) * spread)
    return tuple(int(size) for size in x[1:][low])
