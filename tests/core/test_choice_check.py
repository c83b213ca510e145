"""A choice made on a noisy table: fitted first, re-scored on what it has not seen."""

from __future__ import annotations

import numpy as np
import pytest

from core.buckets import frontier, set_cost
from core.choice.check import check_choice, point_noise
from core.errors import SettingError
from core.records import (
    DeviceInfo,
    MeasureRow,
    MeasureSpec,
    Origin,
    Profile,
    StepCost,
    StepHistogram,
)
from core.step_cost import cost_from_profile

MEASURED = np.arange(1, 257)
TRUTH = 5_600.0 + 10.0 * MEASURED + 55.0 * np.ceil(MEASURED / 8) + 300.0 * np.ceil(MEASURED / 64)
DEFAULT = (1, 2, 4, *range(8, 257, 8))


def traffic() -> StepHistogram:
    """A day of decode batches: two humps, up to 200."""
    rng = np.random.default_rng(4)
    sizes = np.concatenate([rng.normal(40, 12, 6000), rng.normal(130, 25, 4000)])
    return StepHistogram.from_batches(np.clip(np.rint(sizes), 1, 200).astype(int))


def profile_of(noise: float, seed: int, sizes=MEASURED) -> Profile:
    shaken = np.exp(noise * np.random.default_rng(seed).standard_normal((2, len(TRUTH))))
    rows = tuple(
        MeasureRow(
            int(size),
            eager_us=float(2 * TRUTH[size - 1] * shaken[1, size - 1]),
            replay_us=float(TRUTH[size - 1] * shaken[0, size - 1]),
            replay_q1_us=float(TRUTH[size - 1] * (1 - noise)),
            replay_q3_us=float(TRUTH[size - 1] * (1 + noise)),
            samples=50,
        )
        for size in sizes
    )
    return Profile(DeviceInfo("cuda", "Test card", True), MeasureSpec((1,)), rows, "2026-01-01")


def cost_of(values) -> StepCost:
    return StepCost(MEASURED, values, 2 * values, np.ones(len(values)), Origin.MEASURED, "table")


@pytest.mark.parametrize("graphs", [16, 35])
def test_choosing_over_the_fit_is_within_0_3_percent_of_the_optimum(graphs):
    """2 % noise: the fitted choice lies within 0.3 % of the best; the raw one promises too much.

    Scored on the truth that the noise was added to, mean of 10 draws.
    """
    histogram, truth = traffic(), cost_of(TRUTH)
    steps = histogram.total_steps
    best = frontier(histogram, max_graphs=graphs, cost=truth).at(graphs).cost / steps
    fitted, raw, promised = [], [], []
    for seed in range(10):
        profile = profile_of(0.02, seed)
        chosen = frontier(histogram, max_graphs=graphs, cost=cost_from_profile(profile)).at(graphs)
        fitted.append(set_cost(histogram, chosen.sizes, truth) / steps)
        table = cost_of(np.array([row.replay_us for row in profile.rows]))
        over_raw = frontier(histogram, max_graphs=graphs, cost=table).at(graphs)
        raw.append(set_cost(histogram, over_raw.sizes, truth) / steps)
        promised.append(over_raw.cost / steps)
    assert np.mean(fitted) <= best * 1.003
    assert np.mean(promised) < best, "noise promises less than what is possible"
    assert np.mean(fitted) < np.mean(raw)


def test_a_promise_is_checked_on_unseen_draws():
    """The re-scored mean lies in its own interval, and the truth too, within a percent."""
    histogram, profile = traffic(), profile_of(0.02, 1)
    found = check_choice(histogram, profile, max_graphs=16, rival=DEFAULT, draws=12)
    assert found.low_us <= found.rescored_us <= found.high_us
    truth = set_cost(histogram, found.sizes, cost_of(TRUTH)) / histogram.total_steps
    assert found.rescored_us == pytest.approx(truth, rel=0.01)
    assert found.gain is not None and found.gain_low is not None and found.gain_high is not None
    assert found.gain_low <= found.gain <= found.gain_high
    assert 0 <= (found.wins or 0) <= 1
    assert "unseen measurements say" in found.sentence()
    assert f"faster in {100 * (found.wins or 0):.0f} % of draws" in found.sentence()


def test_a_second_measurement_is_what_scores():
    """A run held back on a card half as fast: the promise is broken, and the answer shows it."""
    histogram, profile = traffic(), profile_of(0.01, 1)
    slow = [
        MeasureRow(r.size, eager_us=2 * (r.eager_us or 0), replay_us=2 * (r.replay_us or 0))
        for r in profile_of(0.01, 2).rows
    ]
    again = Profile(profile.device, profile.spec, tuple(slow), "2026-01-02")
    found = check_choice(histogram, profile, max_graphs=16, held_back=again, draws=4)
    assert found.rescored_us == pytest.approx(2 * found.promised_us, rel=0.02)
    assert found.rival_us is None and found.gain is None
    assert "other set" not in found.sentence()


def test_noise_is_read_from_residuals_and_quartiles():
    """What the fit leaves over says more than the spread within rows, and the larger counts."""
    assert point_noise(profile_of(0.02, 3)) == pytest.approx(0.02, rel=0.25)
    # quiet residuals, wide quartiles: IQR 2 x 0.5 / 1.349 / sqrt(50) x 1.2533
    rows = profile_of(1e-6, 3)
    wide = [
        MeasureRow(
            r.size,
            eager_us=r.eager_us,
            replay_us=r.replay_us,
            replay_q1_us=0.5 * (r.replay_us or 0),
            replay_q3_us=1.5 * (r.replay_us or 0),
            samples=50,
        )
        for r in rows.rows
    ]
    wanted = 1.2533 / 1.349 / np.sqrt(50)
    profile = Profile(rows.device, rows.spec, tuple(wide), "2026-01-01")
    assert point_noise(profile) == pytest.approx(wanted, rel=0.05)


def test_one_draw_has_no_spread():
    """Fewer than two draws are refused."""
    with pytest.raises(SettingError):
        check_choice(traffic(), profile_of(0.01, 1), max_graphs=4, draws=1)
