"""Does a choice made on a noisy measurement keep its promise: re-scored on data it has not seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.buckets import frontier, set_cost
from core.cost.fit import CurveFit
from core.errors import HistogramError, SettingError
from core.records import FloatArray, IntArray, MeasureRow, Profile, StepHistogram
from core.step_cost import cost_from_profile, fit_profile

MEDIAN_NOISE = 1.2533
"""Standard error of a median is this times that of a mean (normal samples)."""
IQR_SIGMAS = 1.349
"""Quartiles of normal samples lie this many standard deviations apart."""


@dataclass(frozen=True)
class ChoiceCheck:
    """A chosen set, what its own fit promised, and what unseen measurements say.

    promised_us : mean step by the fit it was chosen over [us]
    rescored_us, low_us, high_us : mean, 5th and 95th percentile over unseen measurements [us]
    rival_us : the same mean of the set it is compared with; None without one
    wins : share of unseen measurements in which the chosen set is faster than the rival
    gain, gain_low, gain_high : saving against the rival as a share, mean and the same percentiles
    noise : relative noise of one measured point that was used
    """

    sizes: tuple[int, ...]
    promised_us: float
    rescored_us: float
    low_us: float
    high_us: float
    noise: float
    draws: int
    rival_us: float | None = None
    wins: float | None = None
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None

    def sentence(self) -> str:
        """In words."""
        text = (
            f"promised {self.promised_us:,.0f} µs a step; unseen measurements say "
            f"{self.rescored_us:,.0f} µs ({self.low_us:,.0f} to {self.high_us:,.0f})"
        )
        if self.gain is None or self.wins is None:
            return text
        assert self.gain_low is not None and self.gain_high is not None
        return (
            f"{text}; {100 * self.gain:+.2f} % against the other set ({100 * self.gain_low:+.2f} "
            f"to {100 * self.gain_high:+.2f} %), faster in {100 * self.wins:.0f} % of draws"
        )


def point_noise(profile: Profile) -> float:
    """Relative noise of one measured replay: the larger of two signs of it.

    Within rows: quartiles over the root of the samples. Between rows: what the fit leaves over,
    which also holds what drifts from row to row.
    """
    replay, _ = fit_profile(profile)
    within = [_standard_error(row) for row in profile.rows if row.error is None]
    known = [value for value in within if value is not None]
    return max(replay.spread, float(np.median(known)) if known else 0.0)


def _standard_error(row: MeasureRow) -> float | None:
    if not row.replay_us or row.replay_q1_us is None or row.replay_q3_us is None or not row.samples:
        return None
    sigma = (row.replay_q3_us - row.replay_q1_us) / IQR_SIGMAS
    return MEDIAN_NOISE * sigma / np.sqrt(row.samples) / row.replay_us


def check_choice(
    histogram: StepHistogram,
    profile: Profile,
    *,
    max_graphs: int,
    rival: Sequence[int] | IntArray | None = None,
    held_back: Profile | None = None,
    draws: int = 40,
    seed: int = 0,
) -> ChoiceCheck:
    """Choose on a profile, then score on measurements that the choice has not seen.

    held_back : a second measurement of the same step; where there is one it is what draws vary
        about. Without it each draw makes two tables from the fit and its noise, chooses on one and
        scores on the other, so a promise that came from noise does not survive
    Raises SettingError, and as `frontier` does.
    """
    if draws < 2:
        raise SettingError(f"{draws} draws give no spread; use 2 or more.")
    if histogram.total_steps == 0:
        raise HistogramError("The histogram holds no step, so no choice can be checked.")
    cost = cost_from_profile(profile)
    chosen = frontier(histogram, max_graphs=max_graphs, cost=cost).at(max_graphs)
    noise = point_noise(profile)
    source = profile if held_back is None else held_back
    redraw = _Redraw(source, *fit_profile(source), point_noise(source))
    rng = np.random.default_rng(seed)
    scores, rivals = [], []
    for _ in range(draws):
        sizes = chosen.sizes
        if held_back is None:
            seen = cost_from_profile(redraw(rng))
            sizes = frontier(histogram, max_graphs=max_graphs, cost=seen).at(max_graphs).sizes
        unseen = cost_from_profile(redraw(rng))
        scores.append(set_cost(histogram, sizes, unseen) / histogram.total_steps)
        if rival is not None:
            rivals.append(set_cost(histogram, rival, unseen) / histogram.total_steps)
    return _summary(chosen.sizes, chosen.cost / histogram.total_steps, scores, rivals, noise)


@dataclass(frozen=True)
class _Redraw:
    """A profile as another run might have measured it: fitted times, each with fresh noise."""

    profile: Profile
    replay: CurveFit
    eager: CurveFit
    noise: float

    def __call__(self, rng: np.random.Generator) -> Profile:
        return dataclasses.replace(
            self.profile, rows=tuple(self._row(row, rng) for row in self.profile.rows)
        )

    def _row(self, row: MeasureRow, rng: np.random.Generator) -> MeasureRow:
        if row.error is not None or row.replay_us is None:
            return row
        shaken = np.exp(self.noise * rng.standard_normal(2))
        replay = float(self.replay.at([row.size])[0] * shaken[0])
        eager = None if row.eager_us is None else float(self.eager.at([row.size])[0] * shaken[1])
        return dataclasses.replace(row, replay_us=replay, eager_us=eager)


def _summary(
    sizes: tuple[int, ...],
    promised: float,
    scores: list[float],
    rivals: list[float],
    noise: float,
) -> ChoiceCheck:
    scored: FloatArray = np.array(scores)
    low, high = np.percentile(scored, [5, 95]).tolist()
    base = ChoiceCheck(sizes, promised, float(scored.mean()), low, high, noise, len(scores))
    if not rivals:
        return base
    others: FloatArray = np.array(rivals)
    gains = 1 - scored / others
    gain_low, gain_high = np.percentile(gains, [5, 95]).tolist()
    return dataclasses.replace(
        base,
        rival_us=float(others.mean()),
        wins=float((scored < others).mean()),
        gain=float(gains.mean()),
        gain_low=gain_low,
        gain_high=gain_high,
    )
