"""A step-time model fitted to steps of a real engine: a curve for decode, a plane for prefill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.calibration.lockstep import StepSamples
from core.cost.curves import isotonic, nonnegative_least_squares
from core.cost.fit import fit_curve
from core.errors import SettingError
from core.padding import bucket_of
from core.records import FloatArray, IntArray, Origin, StepCost
from core.simulation.step_times import PrefillCost, assumed_prefill

FEWEST = 20
"""Steps of each kind that a fit needs; a bucket of so many counts half its own, half the line."""
TRUSTED = 0.1
"""Steps further off than this (a busy host, say) count less, the further the less."""
REWEIGHTINGS = 15


@dataclass(frozen=True)
class FittedSteps:
    """Step times of an engine, fitted; what they rest on and how far they are off.

    decode_steps, mixed_steps : how many steps were fitted
    decode_spread, mixed_spread : root mean square of predicted / real - 1; None: not fitted
    eager : where eager decode steps come from, in words; "" where nothing shows any, so that one
        lasts as long as a graph step of its size
    """

    cost: StepCost
    prefill: PrefillCost
    decode_steps: int
    mixed_steps: int
    decode_spread: float
    mixed_spread: float | None
    eager: str = ""

    @property
    def summary(self) -> str:
        """Words for captions."""
        text = (
            f"fitted to {self.decode_steps:,} decode steps (residuals "
            f"{100 * self.decode_spread:.1f} %)"
        )
        if self.mixed_spread is None:
            return f"{text}; {self.mixed_steps:,} with prefill are too few to fit"
        return f"{text} and {self.mixed_steps:,} with prefill ({100 * self.mixed_spread:.1f} %)"


def fit_steps(
    samples: StepSamples,
    capture_sizes: Sequence[int],
    *,
    eager_us: Mapping[int, float] | None = None,
    source: str = "recorded run",
) -> FittedSteps:
    """Decode: a never falling curve of the bucket + context x context_us; prefill: PrefillCost.

    The curve follows each bucket's own median where it has many steps, and the line through all
    where it has few or none.
    capture_sizes : those the recorded engine had; empty: it ran eager, or they are not known
    eager_us : eager decode steps by batch size, where they were measured [us]; None: those above
        the largest graph, where there are enough; else an eager step lasts as long as a graph's
    Weights are 1 / time, so that long steps do not rule, and less for steps far off (Huber). Where
    there are too few steps with prefill they are assumed in proportion.
    Raises SettingError if there are too few decode steps.
    """
    decode, mixed = samples.where(samples.tokens == 0), samples.where(samples.tokens > 0)
    graphs, above = _apart(decode, capture_sizes)
    if len(graphs) < FEWEST:
        raise SettingError(
            f"{source}: {len(graphs)} decode steps are too few to fit; {FEWEST} are needed."
        )
    buckets = slots(graphs.rows, capture_sizes)
    terms = (np.ones(len(graphs)), buckets, graphs.context)
    base, slot, context = _plane(terms, graphs.us)
    top = max(2, int(samples.rows.max()), *capture_sizes)
    sizes = np.arange(1, top + 1, dtype=np.int64)
    replay = _curve(buckets, graphs.us - context * graphs.context, (base, slot), sizes)
    eager, eager_words = _eager(eager_us, above, context, replay, sizes)
    text = f"{source}, fitted"
    cost = StepCost(sizes, replay, eager, np.zeros(top), Origin.FITTED, text)
    prefill, mixed_spread = _prefill(mixed, context, cost)
    off = (replay[buckets - 1] + context * graphs.context) / graphs.us - 1
    return FittedSteps(
        *(cost, prefill, len(graphs), len(mixed), _spread(off), mixed_spread, eager_words)
    )


def slots(rows: IntArray, capture_sizes: Sequence[int]) -> IntArray:
    """Rows that a decode step computes: its bucket, or itself where it runs eager; (n,)."""
    if not capture_sizes:
        return rows
    bucket = bucket_of(rows, capture_sizes)
    return np.where(bucket > 0, bucket, rows)


def _apart(decode: StepSamples, capture_sizes: Sequence[int]) -> tuple[StepSamples, StepSamples]:
    """Decode steps on a graph, and those above the largest."""
    fits = decode.rows <= max(capture_sizes, default=2**62)
    return decode.where(fits), decode.where(~fits)


def _spread(off: FloatArray) -> float:
    return float(np.sqrt(np.mean(off**2)))


def _plane(terms: tuple[np.ndarray, ...], us: FloatArray) -> list[float]:
    """Coefficients of 0 or more. Terms that never occur (a run without long prompts) get 0."""
    columns = np.column_stack([np.asarray(term, np.float64) for term in terms])
    used = columns.any(axis=0)
    found = np.zeros(columns.shape[1])
    trust = np.ones(len(us))
    for _ in range(REWEIGHTINGS):
        weight = np.sqrt(trust / us)
        found[used] = nonnegative_least_squares(columns[:, used] * weight[:, None], us * weight)
        off = np.abs(us / (columns @ found) - 1)
        trust = np.minimum(1.0, TRUSTED / np.maximum(off, 1e-9))
    return found.tolist()


def _curve(
    buckets: IntArray, us: FloatArray, line: tuple[float, float], sizes: IntArray
) -> FloatArray:
    """Time of each size: medians of the buckets drawn to the line by how few their steps are.

    Straight between buckets; above the largest that occurs with the line's slope.
    """
    base, slope = line
    known = np.unique(buckets)
    counts = np.array([(buckets == bucket).sum() for bucket in known], np.float64)
    medians = np.array([np.median(us[buckets == bucket]) for bucket in known])
    straight = base + slope * known
    values = straight + (medians - straight) * counts / (counts + FEWEST)
    values = isotonic(np.maximum(values, 1e-3), counts / straight**2)
    beyond = np.maximum(sizes - known[-1], 0)
    return np.interp(sizes, known, values) + slope * beyond


def _prefill(
    mixed: StepSamples, context_us: float, cost: StepCost
) -> tuple[PrefillCost, float | None]:
    if len(mixed) < FEWEST:
        assumed = assumed_prefill(cost, 0)
        source = f"{assumed.source}; context of a decode step fitted, {context_us:.3g} µs a token"
        return replace(assumed, context_us_per_token=context_us, source=source), None
    terms = (np.ones(len(mixed)), mixed.tokens, mixed.prompts, mixed.pairs, mixed.context)
    found = _plane(terms, mixed.us)
    base, token, prompt, pair, mixed_context = found
    off = np.column_stack(terms) @ np.array(found) / mixed.us - 1
    prefill = PrefillCost(
        base,
        token,
        context_us,
        0,
        Origin.FITTED,
        f"prefill and context fitted: {token:.3g} µs a token, {context_us:.3g} µs a token of "
        "context",
        us_per_prompt=prompt,
        us_per_pair=pair,
        mixed_context_us_per_token=mixed_context,
    )
    return prefill, _spread(off)


def _eager(
    table: Mapping[int, float] | None,
    above: StepSamples,
    context_us: float,
    replay: FloatArray,
    sizes: IntArray,
) -> tuple[FloatArray, str]:
    """Eager steps by size (n,) [us], and where they come from."""
    if table is not None:
        return eager_curve(table, sizes), "their own table"
    if len(above) < FEWEST:
        return replay, ""
    us = above.us - context_us * above.context
    found = {int(rows): float(np.median(us[above.rows == rows])) for rows in np.unique(above.rows)}
    return eager_curve(found, sizes), f"{len(above):,} steps above the largest graph"


def eager_curve(table: Mapping[int, float], sizes: IntArray) -> FloatArray:
    """Eager steps from a measured table, smoothed and never falling; (n,) [us].

    Raises SettingError if the table is empty.
    """
    if len(table) == 0:
        raise SettingError("The table of eager steps is empty; leave it out or measure it.")
    points = sorted(table.items())
    return fit_curve(
        np.array([size for size, _ in points], np.int64),
        np.array([us for _, us in points], np.float64),
    ).at(sizes)
