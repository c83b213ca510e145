"""What steps cost that are counted by tokens: mixed steps, and prefill graphs by prompt length.

The curve of decode rows does not price them: its row is a request that reads its own KV cache and
is sampled, a prompt's token is neither.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.cost.family import timed_sizes
from core.cost.of_profile import cost_from_profile, memory_from_profile
from core.cost.points import capture_ms_at, eager_us_at, replay_us_at
from core.records import (
    FloatArray,
    GraphMemory,
    IntArray,
    Origin,
    Profile,
    SizeUnit,
    StepCost,
    StepHistogram,
)
from core.simulation.step_times import PrefillCost, assumed_prefill, weakest

MAX_TOKENS = 2**20
"""Where the points of a formula end; beyond them it goes straight on."""
POINTS_PER_DOUBLING = 16
"""Straight lines between so many follow a square to 0.03 %."""
LEFT_OUT = {
    SizeUnit.TOKENS: "left out is what each request adds beside its tokens: KV reads of decoding "
    "ones, attention of prompts, sampling",
    SizeUnit.LENGTH: "one prompt a step",
}
ASSUMED_FROM = "the ratios of an 8B model in bf16 on one H200 under vLLM 0.23"


def decodes(steps: StepHistogram) -> bool:
    """Whether sizes count rows of decode steps; else tokens of steps that may hold prompts."""
    return steps.unit is SizeUnit.REQUESTS or (steps.unit is SizeUnit.TOKENS and steps.decode_only)


def cost_for(
    steps: StepHistogram,
    decode: StepCost,
    prefill: PrefillCost | None = None,
    prompts: Profile | None = None,
) -> StepCost:
    """The cost that prices these steps: `decode` itself for decode steps, else one by tokens.

    prefill : what a decode curve does not say; None takes `assumed_prefill`
    prompts : prefill chunks measured for the same model and card, which win over `prefill`
    Raises SettingError.
    """
    return decode if decodes(steps) else cost_by_tokens(steps.unit, decode, prefill, prompts)


def cost_by_tokens(
    unit: SizeUnit,
    decode: StepCost,
    prefill: PrefillCost | None = None,
    prompts: Profile | None = None,
) -> StepCost:
    """The same for steps that may hold prompts, whose sizes are in `unit`. Raises SettingError."""
    if prompts is not None and can_price(prompts):
        return measured_token_cost(prompts, decode, unit)
    return token_step_cost(decode, prefill, unit)


def memory_by_tokens(memory: GraphMemory, prompts: Profile | None = None) -> GraphMemory:
    """Memory of graphs of so many tokens: measured on prefill chunks, else a token as a row.

    memory : of decode graphs
    """
    if prompts is not None and any(row.pool_bytes is not None for row in prompts.rows):
        return memory_from_profile(prompts)
    return replace(
        memory,
        origin=weakest((memory.origin, Origin.ESTIMATED)),
        source=f"{memory.source}; a graph of so many tokens is taken to need what one of so many "
        "requests does",
    )


def can_price(prompts: Profile) -> bool:
    """Whether a profile of prefill chunks tells replay and eager times of two sizes or more."""
    return len(timed_sizes(prompts)) > 1


def token_step_cost(
    decode: StepCost, prefill: PrefillCost | None = None, unit: SizeUnit = SizeUnit.TOKENS
) -> StepCost:
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
    assumed = prefill.origin is Origin.ASSUMED
    alone = unit is SizeUnit.LENGTH
    base = prefill.base_us + (prefill.us_per_prompt if alone else 0.0)
    pairs = alone and prefill.us_per_pair > 0
    attention = f" + {1e3 * prefill.us_per_pair:.3g} ns a pair of its tokens" if pairs else ""
    return (
        f"by tokens, replay {base:,.0f} µs + {prefill.us_per_token:.3g} µs a token{attention}, at "
        f"least the shortest decode step ({shortest:,.0f} µs), eager at least {submit:,.0f} µs to "
        f"submit; prefill {prefill.origin.value} ({ASSUMED_FROM if assumed else prefill.source}), "
        f"captures as of decode graphs; {LEFT_OUT[unit]}"
    )


def measured_token_cost(prompts: Profile, decode: StepCost, unit: SizeUnit) -> StepCost:
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
        source=f"prefill chunks of {timed[0]:,} to {timed[-1]:,} tokens measured on {cost.source}; "
        f"larger ones straight on; {LEFT_OUT[unit]}",
        unit=unit,
    )


def _raised(values: FloatArray, below: NDArray[np.bool_], least: float) -> FloatArray:
    """Values of sizes below the measured ones, no less than `least` and never falling."""
    first = float(values[~below][0])
    return np.where(below, np.maximum(values, min(least, first)), values)
