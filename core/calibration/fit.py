"""A step-time model fitted to steps of a real engine: a line for decode, a plane for prefill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.calibration.lockstep import StepSamples
from core.cost_curves import nonnegative_least_squares
from core.cost_fit import fit_curve
from core.errors import SettingError
from core.padding import bucket_of
from core.records import FloatArray, IntArray, Origin, StepCost
from core.simulation.step_times import PrefillCost

FEWEST = 20
"""Steps of each kind that a fit needs."""
TRUSTED = 0.1
"""Steps further off than this (a busy host, say) count less, the further the less."""
REWEIGHTINGS = 15


@dataclass(frozen=True)
class FittedSteps:
    """Step times of an engine, fitted; what they rest on and how far they are off.

    decode_steps, mixed_steps : how many steps were fitted
    decode_spread, mixed_spread : root mean square of predicted / real - 1
    """

    cost: StepCost
    prefill: PrefillCost
    decode_steps: int
    mixed_steps: int
    decode_spread: float
    mixed_spread: float

    @property
    def summary(self) -> str:
        """Words for captions."""
        return (
            f"fitted to {self.decode_steps:,} decode steps (residuals "
            f"{100 * self.decode_spread:.1f} %) and {self.mixed_steps:,} with prefill "
            f"({100 * self.mixed_spread:.1f} %)"
        )


def fit_steps(
    samples: StepSamples,
    capture_sizes: Sequence[int],
    *,
    eager_us: Mapping[int, float] | None = None,
    source: str = "recorded run",
) -> FittedSteps:
    """Decode = base + slots x slot_us + context x context_us; prefill: see PrefillCost.

    capture_sizes : those the recorded engine had; empty: it ran eager
    eager_us : eager decode steps by batch size, where they were measured [us]; None: an eager step
        is taken to last as long as the fitted one
    Weights are 1 / time, so that long steps do not rule, and less for steps far off (Huber).
    Raises SettingError if there are too few steps of a kind.
    """
    decode, mixed = samples.where(samples.tokens == 0), samples.where(samples.tokens > 0)
    for kind, part in (("decode", decode), ("prefill", mixed)):
        if len(part) < FEWEST:
            raise SettingError(
                f"{source}: {len(part)} {kind} steps are too few to fit; {FEWEST} are needed."
            )
    terms = (np.ones(len(decode)), slots(decode.rows, capture_sizes), decode.context)
    (base, slot, context), decode_spread = _plane(terms, decode.us)
    terms = (np.ones(len(mixed)), mixed.tokens, mixed.prompts, mixed.pairs, mixed.context)
    (mixed_base, token, prompt, pair, mixed_context), mixed_spread = _plane(terms, mixed.us)
    top = max(2, int(samples.rows.max()), *capture_sizes)
    sizes = np.arange(1, top + 1, dtype=np.int64)
    replay = base + slot * sizes.astype(np.float64)
    eager = replay if eager_us is None else _eager_curve(eager_us, sizes)
    return FittedSteps(
        StepCost(sizes, replay, eager, np.zeros(top), Origin.FITTED, f"{source}, fitted"),
        PrefillCost(
            mixed_base,
            token,
            context,
            0,
            Origin.FITTED,
            f"prefill and context fitted: {token:.3g} us a token, {context:.3g} us a token of "
            "context",
            us_per_prompt=prompt,
            us_per_pair=pair,
            mixed_context_us_per_token=mixed_context,
        ),
        len(decode),
        len(mixed),
        decode_spread,
        mixed_spread,
    )


def slots(rows: IntArray, capture_sizes: Sequence[int]) -> IntArray:
    """Rows that a decode step computes: its bucket, or itself where it runs eager; (n,)."""
    if not capture_sizes:
        return rows
    bucket = bucket_of(rows, capture_sizes)
    return np.where(bucket > 0, bucket, rows)


def _plane(terms: tuple[np.ndarray, ...], us: FloatArray) -> tuple[list[float], float]:
    """Coefficients of 0 or more, and the spread of predicted / real - 1.

    Terms that never occur (a run without long prompts) get 0.
    """
    columns = np.column_stack([np.asarray(term, np.float64) for term in terms])
    used = columns.any(axis=0)
    found = np.zeros(columns.shape[1])
    trust = np.ones(len(us))
    for _ in range(REWEIGHTINGS):
        weight = np.sqrt(trust / us)
        found[used] = nonnegative_least_squares(columns[:, used] * weight[:, None], us * weight)
        off = np.abs(us / (columns @ found) - 1)
        trust = np.minimum(1.0, TRUSTED / np.maximum(off, 1e-9))
    spread = float(np.sqrt(np.mean((columns @ found / us - 1) ** 2)))
    return found.tolist(), spread


def _eager_curve(table: Mapping[int, float], sizes: IntArray) -> FloatArray:
    """Eager steps from a measured table, smoothed and never falling; (n,) [us]."""
    if len(table) == 0:
        raise SettingError("The table of eager steps is empty; leave it out or measure it.")
    points = sorted(table.items())
    return fit_curve(
        np.array([size for size, _ in points], np.int64),
        np.array([us for _, us in points], np.float64),
    ).at(sizes)
