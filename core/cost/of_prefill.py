"""What a step of prompts costs by its tokens: by formula, or as prefill chunks were measured."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.cost.family import timed_sizes
from core.cost.of_profile import cost_from_profile
from core.cost.points import capture_ms_at, eager_us_at, replay_us_at
from core.records import FloatArray, IntArray, Origin, Profile, SizeUnit, StepCost
from core.simulation.step_times import PrefillCost, assumed_prefill, weakest

MAX_TOKENS = 2**20
"""Where the points of a formula end; beyond them it goes straight on."""
POINTS_PER_DOUBLING = 16
"""Straight lines between so many follow a square to 0.03 %."""
ASSUMED_FROM = "the ratios of an 8B model in bf16 on one H200 under vLLM 0.23"


def prefill_step_cost(
    decode: StepCost, prefill: PrefillCost | None, prompts: Profile | None, unit: SizeUnit
) -> StepCost:
    """Of steps that hold prompts alone, measured where chunks were, else by formula.

    unit : of the sizes, tokens of several prompts or the length of one
    Raises SettingError.
    """
    if prompts is not None and can_price(prompts):
        return measured_prefill_cost(prompts, decode, unit)
    return formula_prefill_cost(decode, prefill, unit)


def can_price(prompts: Profile) -> bool:
    """Whether a profile of prefill chunks tells replay and eager times of two sizes or more."""
    return len(timed_sizes(prompts)) > 1


def formula_prefill_cost(decode: StepCost, prefill: PrefillCost | None, unit: SizeUnit) -> StepCost:
    """By formula: replay = base + tokens x us_per_token, but no less than the shortest decode step.

    By prompt length (unit LENGTH) the one prompt of the step and the pairs of its attention,
    n (n + 1) / 2, are added. Eager is the same, but no less than submitting a decode step's kernels
    takes. Captures take as long as those of `decode`, the largest of its sizes for any above it.
    Raises SettingError.
    """
    prefill = prefill or assumed_prefill(decode)
    shortest = float(replay_us_at(decode, [1])[0])
    submit = max(shortest, float(eager_us_at(decode, [1])[0]))
    formula = _formula(prefill, unit)
    sizes = _grid(formula, (shortest, submit))
    device = np.array([formula(size) for size in sizes.tolist()])
    return StepCost(
        sizes,
        np.maximum(device, shortest),
        np.maximum(device, submit),
        capture_ms_at(decode, np.minimum(sizes, decode.sizes[-1])),
        weakest((decode.origin, prefill.origin)),
        _source(prefill, unit, shortest, submit),
        decode.copy_us,
        unit,
        eager_known=decode.eager_known,
    )


def _formula(prefill: PrefillCost, unit: SizeUnit) -> Callable[[int], float]:
    """Device time of a step by its tokens, never falling [us]."""
    alone = unit is SizeUnit.LENGTH
    base = prefill.base_us + (prefill.us_per_prompt if alone else 0.0)
    pair = prefill.us_per_pair if alone else 0.0
    return lambda size: base + prefill.us_per_token * size + pair * size * (size + 1) / 2


def _grid(formula: Callable[[int], float], floors: tuple[float, float]) -> IntArray:
    """Sizes close enough for a square, and those about the corners where a floor ends."""
    doublings = MAX_TOKENS.bit_length() - 1
    even = np.geomspace(1, MAX_TOKENS, doublings * POINTS_PER_DOUBLING + 1)
    every = range(1, MAX_TOKENS + 1)
    first = [1 + bisect_left(every, floor, key=formula) for floor in floors]
    corners = [size for at in first for size in (at - 1, at) if 1 <= size <= MAX_TOKENS]
    return np.union1d(np.rint(even).astype(np.int64), np.array(corners, np.int64))


def _source(prefill: PrefillCost, unit: SizeUnit, shortest: float, submit: float) -> str:
    """By tokens alone only their slope matters: what they stand beside has its own words."""
    said = ASSUMED_FROM if prefill.origin is Origin.ASSUMED else prefill.source
    origin = f"prefill {prefill.origin.value} ({said})"
    if unit is SizeUnit.TOKENS:
        return f"{prefill.us_per_token:.3g} µs a token, {origin}"
    square = prefill.us_per_pair > 0
    attention = f" + {1e3 * prefill.us_per_pair:.3g} ns a pair of its tokens" if square else ""
    return (
        f"one prompt a step, replay {prefill.base_us + prefill.us_per_prompt:,.0f} µs + "
        f"{prefill.us_per_token:.3g} µs a token{attention}, at least the shortest decode step "
        f"({shortest:,.0f} µs), eager at least {submit:,.0f} µs to submit; {origin}; captures as "
        "of decode graphs"
    )


def measured_prefill_cost(prompts: Profile, decode: StepCost, unit: SizeUnit) -> StepCost:
    """From measured prefill chunks, as `cost_from_profile` fits them.

    Below the smallest chunk a step takes no less than the shortest decode step, as far as that
    contradicts no measurement. Where captures were not timed they take as long as `decode` says.
    Raises SettingError.
    """
    cost = cost_from_profile(prompts)
    timed = sorted(timed_sizes(prompts))
    shortest = float(replay_us_at(decode, [1])[0])
    captured = any(row.capture_ms is not None for row in prompts.rows)
    below = cost.sizes < timed[0]
    as_decode = capture_ms_at(decode, np.minimum(cost.sizes, decode.sizes[-1]))
    return replace(
        cost,
        replay_us=_raised(cost.replay_us, below, shortest),
        eager_us=_raised(cost.eager_us, below, shortest),
        capture_ms=cost.capture_ms if captured else as_decode,
        source=f"{'one prompt a step, ' if unit is SizeUnit.LENGTH else ''}prefill chunks of "
        f"{timed[0]:,} to {timed[-1]:,} tokens measured on {cost.source}; larger ones straight on",
        unit=unit,
    )


def _raised(values: FloatArray, below: NDArray[np.bool_], least: float) -> FloatArray:
    """Values of sizes below the measured ones, no less than `least` and never falling."""
    first = float(values[~below][0])
    return np.where(below, np.maximum(values, min(least, first)), values)
