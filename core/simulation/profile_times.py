"""Time of prompts and of context, from profiles of a card: fitted, estimated, or in proportion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.cost.context_grid import context_grid
from core.cost.curves import nonnegative_least_squares
from core.cost.family import ProfileFamily
from core.cost.of_profile import cost_from_profile
from core.errors import SettingError
from core.model.memory import kv_bytes_per_token
from core.records import FloatArray, IntArray, Origin, Profile, StepCost
from core.simulation.step_times import PrefillCost, assumed_prefill, most_context_us

BYTES_OF_DTYPE = {"float32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}


def prefill_from_profile(
    decode: Profile,
    cost: StepCost,
    *,
    prompts: Profile | None = None,
    others: Sequence[Profile] = (),
    context_tokens: int | None = None,
    max_rows: int = 1024,
) -> PrefillCost:
    """What a decode profile and, where there are any, others say about prompts and context.

    decode : a profile of the step that `cost` prices
    prompts : a profile of prefill chunks (target "llama-prefill") of the same model and card
    others : decode profiles at other contexts: the difference is what context costs
    context_tokens : the context that `cost` is at, and so holds already; the profile's own if None
    max_rows : the most requests that decode together
    Without `others` context is estimated as KV bytes over the card's copy bandwidth; what nothing
    tells is assumed in proportion to the smallest replay, and said so.
    Raises SettingError.
    """
    for other in (prompts, *others):
        if other is not None:
            _check_same(decode, other)
    reference = decode.spec.context_tokens if context_tokens is None else context_tokens
    top = max(int(cost.sizes[-1]), max_rows)
    found = assumed_prefill(cost, reference, top)
    most = most_context_us(cost, reference, top)
    context_us, context_text = _at_most(most, *_context(decode, others, found))
    found = replace(found, context_us_per_token=context_us, mixed_context_us_per_token=None)
    if prompts is None:
        source = f"{context_text}; {_token_text(found)}"
        return replace(found, origin=Origin.ASSUMED, source=source)
    origin = Origin.FITTED if others else Origin.ESTIMATED
    source = f"{context_text}; prefill fitted to {prompts.source}"
    return replace(_with_prompts(found, prompts), origin=origin, source=source)


def _with_prompts(found: PrefillCost, prompts: Profile) -> PrefillCost:
    base, per_token = _line(*_points(prompts))
    return replace(
        found,
        base_us=base,
        us_per_token=per_token,
        us_per_prompt=0.0,  # a profile holds one prompt a step: it is in the line
        us_per_pair=0.0,
    )


def family_times(
    family: ProfileFamily, context_tokens: int | None = None, max_rows: int = 1024
) -> tuple[StepCost, PrefillCost]:
    """Decode, prompts and context as a profile and its relatives have them.

    context_tokens : the context of a decode step; the profile's own if None
    Raises SettingError.
    """
    profile = family.profile
    context = profile.spec.context_tokens if context_tokens is None else context_tokens
    if context == profile.spec.context_tokens:
        cost = cost_from_profile(profile)
    else:
        cost = context_grid(family.decode).cost_at(context)
    prefill = prefill_from_profile(
        *(profile, cost),
        prompts=family.prompts,
        others=family.others,
        context_tokens=context,
        max_rows=max_rows,
    )
    return cost, prefill


def _check_same(decode: Profile, other: Profile) -> None:
    one, two = (
        (p.device.name, p.spec.model.name, p.spec.model.tensor_parallel) for p in (decode, other)
    )
    if one != two:
        raise SettingError(
            f"The profiles are of {one[1]} on {one[0]} and of {two[1]} on {two[0]}; use profiles "
            "of one model and card."
        )


def _token_text(found: PrefillCost) -> str:
    return f"prefill assumed, {found.us_per_token:.3g} µs a token"


def _at_most(most_us: float, context_us: float, text: str) -> tuple[float, str]:
    """No more than is credible, and the words that say so."""
    if context_us <= most_us:
        return context_us, text
    return most_us, f"{text}, cut to {most_us:.3g} (nine tenths of a step)"


def _context(decode: Profile, others: Sequence[Profile], assumed: PrefillCost) -> tuple[float, str]:
    """Microseconds a context token, and where they come from."""
    if others:
        ordered = sorted((decode, *others), key=lambda profile: profile.spec.context_tokens)
        contexts = " and ".join(str(profile.spec.context_tokens) for profile in ordered)
        value = _slope(ordered)
        return value, f"context fitted to contexts {contexts}, {value:.3g} µs a token"
    model, bandwidth = decode.spec.model, decode.device.copy_gbps
    if bandwidth and model.dtype in BYTES_OF_DTYPE:
        held = kv_bytes_per_token(
            *(model.num_layers, model.num_kv_heads, model.head_dim, BYTES_OF_DTYPE[model.dtype]),
            model.tensor_parallel,
        )
        value = held / (bandwidth * 1e3)  # bytes over GB/s: nanoseconds; in us 1e-3 of it
        return value, f"context estimated from KV bytes over copy bandwidth, {value:.3g} µs a token"
    return assumed.context_us_per_token, (
        f"context assumed, {assumed.context_us_per_token:.3g} µs a token"
    )


def _slope(ordered: Sequence[Profile]) -> float:
    """Median over neighbours and their common sizes of time gained per token; 0 or more [us]."""
    gains: list[float] = []
    for one, two in zip(ordered, ordered[1:], strict=False):
        more = two.spec.context_tokens - one.spec.context_tokens
        if more == 0:
            raise SettingError(
                f"Two profiles have a context of {one.spec.context_tokens} tokens; what context "
                "costs takes different ones."
            )
        short, long = (_replays(profile) for profile in (one, two))
        gains += [(long[b] - short[b]) / (b * more) for b in short.keys() & long.keys()]
    if not gains:
        raise SettingError("The profiles have no replayed size in common; measure one at each.")
    return max(0.0, float(np.median(gains)))


def _replays(profile: Profile) -> dict[int, float]:
    return {row.size: row.replay_us for row in profile.rows if row.replay_us is not None}


def _points(prompts: Profile) -> tuple[IntArray, FloatArray]:
    """Chunk tokens and their time: replayed, beyond an engine's largest graph, or eager."""
    times = {
        row.size: next(
            (us for us in (row.replay_us, row.beyond_us, row.eager_us) if us is not None), None
        )
        for row in prompts.rows
        if row.error is None
    }
    known = [(size, us) for size, us in times.items() if us is not None]
    if len(known) < 2:
        raise SettingError(
            f"The profile of prompts of {prompts.device.name} holds {len(known)} measured sizes; a "
            "line takes two."
        )
    tokens, us = zip(*known, strict=True)
    return np.array(tokens, np.int64), np.array(us, np.float64)


def _line(tokens: IntArray, us: FloatArray) -> tuple[float, float]:
    """Base and slope of 0 or more, by relative error."""
    terms = np.column_stack([np.ones(len(tokens)), tokens]) / us[:, None]
    base, slope = nonnegative_least_squares(terms, np.ones(len(us))).tolist()
    return base, slope
