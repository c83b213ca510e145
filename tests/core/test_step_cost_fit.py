"""Fitting a noisy table: what is found, and that choosing over the fit keeps its promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cost.curves import isotonic, nonnegative_least_squares
from core.cost.fit import fit_curve
from core.cost.of_profile import cost_from_profile
from core.errors import SettingError
from core.records import DeviceInfo, MeasureRow, MeasureSpec, Profile

SIZES = np.array([1, 2, 4, *range(8, 257, 8)])


def noisy(values, share: float, seed: int):
    return values * (1 + share * np.random.default_rng(seed).standard_normal(len(values)))


def test_isotonic_by_hand():
    """Neighbours that fall are pooled: 3, 1 -> 2, 2; then 2, 2, 2.5 stands."""
    assert isotonic(np.array([3.0, 1.0, 2.5])).tolist() == [2, 2, 2.5]
    assert isotonic(np.array([3.0, 1.0]), np.array([3.0, 1.0])).tolist() == [2.5, 2.5]


def test_nonnegative_least_squares_by_hand():
    """Where the best slope would be negative it is 0 and the mean remains."""
    x = np.arange(5.0)
    terms = np.column_stack([np.ones(5), x])
    assert nonnegative_least_squares(terms, 3 + 2 * x) == pytest.approx([3, 2])
    assert nonnegative_least_squares(terms, 10 - x) == pytest.approx([8, 0])


@pytest.mark.parametrize("seed", range(5))
def test_a_noisy_line_is_called_a_line(seed):
    """With 2 % noise the simplest model is chosen, and lies within 1 % of the truth."""
    truth = 5800 + 44.0 * SIZES
    fit = fit_curve(SIZES, noisy(truth, 0.02, seed))
    assert fit.kind == "affine"
    assert np.abs(fit.at(SIZES) / truth - 1).max() < 0.015
    assert fit.spread == pytest.approx(0.02, rel=0.5)


@pytest.mark.parametrize("seed", range(5))
def test_stairs_are_found(seed):
    """A step of 64 rows a tile is seen through 0.5 % noise, also at sizes not measured."""
    truth = 3000 + 5.0 * SIZES + 900 * np.ceil(SIZES / 64)
    fit = fit_curve(SIZES, noisy(truth, 0.005, seed))
    assert fit.kind == "affine + stairs"
    between = np.array([61, 67, 125, 131])
    wanted = 3000 + 5.0 * between + 900 * np.ceil(between / 64)
    assert np.abs(fit.at(between) / wanted - 1).max() < 0.015


def test_a_real_dip_is_named():
    """A size 10 % faster than smaller ones is no noise of 0.5 %: it is named, not smoothed away."""
    values = noisy(5800 + 44.0 * SIZES, 0.005, 3)
    values[20] *= 0.85
    fit = fit_curve(SIZES, values)
    assert int(SIZES[20]) in fit.dips
    assert f"dips at {SIZES[20]}" in fit.summary


def test_a_bend_is_found():
    """Bound by memory up to 128, by computing above: two slopes, seen through 0.5 % noise."""
    truth = 5800 + 5.0 * SIZES + 40.0 * np.maximum(0, SIZES - 128)
    fit = fit_curve(SIZES, noisy(truth, 0.005, 2))
    assert fit.kind == "affine + bends"
    assert np.abs(fit.at(SIZES) / truth - 1).max() < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_a_wild_point_is_named_and_hardly_moves_the_curve(seed):
    """One row 40 % too slow (the card was busy): named, and the curve stays within 1.5 %."""
    truth = 5800 + 44.0 * SIZES
    values = noisy(truth, 0.005, seed)
    values[17] *= 1.4
    fit = fit_curve(SIZES, values)
    assert int(SIZES[17]) in fit.outliers
    assert f"far off at {SIZES[17]}" in fit.summary
    assert np.abs(fit.at(SIZES) / truth - 1).max() < 0.015


def test_few_points_are_joined():
    """Three points are no ground for a model: straight lines, made never falling."""
    fit = fit_curve([1, 8, 16], [10.0, 9.0, 20.0])
    assert fit.kind == "points"
    assert (np.diff(fit.at(np.arange(1, 40))) >= 0).all()


@pytest.mark.parametrize(
    ("sizes", "values"), [([], []), ([2, 1], [1, 1]), ([1], [0.0]), ([1], [float("nan")])]
)
def test_points_that_are_none(sizes, values):
    """Sizes ascend and times are above 0."""
    with pytest.raises(SettingError):
        fit_curve(sizes, values)


@given(
    st.lists(st.floats(100, 10_000), min_size=1, max_size=25),
    st.integers(0, 2**32 - 1),
)
def test_a_fit_never_falls(values, seed):
    """Whatever the points, no larger size is cheaper than a smaller one: the exact choice holds."""
    sizes = np.sort(np.random.default_rng(seed).choice(300, len(values), replace=False) + 1)
    curve = fit_curve(sizes, values).at(np.arange(1, 400))
    assert (np.diff(curve) >= -1e-9 * curve[:-1]).all()
    assert np.isfinite(curve).all() and (curve > 0).all()


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30))
def test_isotonic_never_falls_and_keeps_the_mean(values):
    """The pooled sequence rises, has the same sum, and leaves a rising one alone."""
    level = isotonic(np.array(values))
    assert (np.diff(level) >= 0).all()
    assert level.sum() == pytest.approx(sum(values), abs=1e-6)
    np.testing.assert_array_equal(isotonic(np.sort(values)), np.sort(values))


def test_a_curve_through_every_point_says_what_it_misses_when_one_is_left_out():
    """Steps that no line follows, each rising: residuals are 0, which alone would flatter."""
    values = 100.0 * 1.2 ** np.arange(40)
    fit = fit_curve(np.arange(1, 41), values)
    assert fit.kind == "isotonic" and fit.spread == 0 and len(fit.held_out) == 38
    missed = 100 * float(np.sqrt(np.mean(fit.held_out**2)))
    assert missed > 1
    assert fit.summary == (
        f"point to point, never falling, residuals 0.00 % ({missed:.1f} % where a point was left "
        "out)"
    )


def test_the_source_of_a_profiles_cost_tells_the_residuals_of_both_curves():
    """Replay on a line, eager off its line by turns 10 %: residuals 0.00 % and 10.0 %."""
    sizes = (1, 2, 4, 8, 16, 32)
    rows = tuple(
        MeasureRow(n, eager_us=1000.0 * (0.9 if i % 2 else 1.1), replay_us=500.0 + n, samples=9)
        for i, n in enumerate(sizes)
    )
    device = DeviceInfo("x", "Card X", True)
    cost = cost_from_profile(Profile(device, MeasureSpec(sizes, samples=9), rows, "2026-01-01"))
    assert "graph replay a straight line, residuals 0.00 %; eager " in cost.source
    eager = fit_curve(sizes, [row.eager_us or 0 for row in rows])
    assert eager.spread == pytest.approx(0.1, rel=0.05)
    assert f"eager {eager.summary}" in cost.source
