"""Time of prompts and of context, from profiles of a card: fitted, estimated, or in proportion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.cost_curves import nonnegative_least_squares
from core.errors import SettingError
from core.model_memory import kv_bytes_per_token
from core.records import FloatArray, IntArray, Origin, Profile, StepCost
from core.simulation.step_times import PrefillCost, assumed_prefill, most_context_us

BYTES_OF_DTYPE = {"float32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}


def prefill_from_profile(
    decode: Profile,
    cost: StepCost,
    *,
    prompts: Profile | None = None,
    longer: Profile | None = None,
    max_rows: int = 1024,
) -> PrefillCost:
    """What a decode profile and, where there are any, others say about prompts and context.

    decode : the profile `cost` was made of; its context is in the decode curve already
    prompts : a profile of prefill chunks (target "llama-prefill") of the same model and card
    longer : a decode profile at another context: the difference is what context costs
    max_rows : the most requests that decode together
    Without `longer` context is estimated as KV bytes over the card's copy bandwidth; what nothing
    tells is assumed in proportion to the smallest replay, and said so.
    Raises SettingError.
    """
    for other in (prompts, longer):
        if other is not None:
            _check_same(decode, other)
    reference, top = decode.spec.context_tokens, max(int(cost.sizes[-1]), max_rows)
    found = assumed_prefill(cost, reference, top)
    context_us, context_text = _context(decode, longer, found)
    most = most_context_us(cost, reference, top)
    if context_us > most:
        context_us, context_text = (
            most,
            f"{context_text}, cut to {most:.3g} (nine tenths of a step)",
        )
    found = replace(
        found,
        context_us_per_token=context_us,
        mixed_context_us_per_token=None,
        origin=Origin.ASSUMED,
        source=f"{context_text}; {_token_text(found)}",
    )
    if prompts is None:
        return found
    tokens, us = _points(prompts)
    base, per_token = _line(tokens, us)
    origin = Origin.FITTED if longer is not None else Origin.ESTIMATED
    return replace(
        found,
        base_us=base,
        us_per_token=per_token,
        us_per_prompt=0.0,  # a profile holds one prompt a step: it is in the line
        us_per_pair=0.0,
        origin=origin,
        source=f"{context_text}; prefill fitted to {prompts.source}",
    )


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
    return f"prefill assumed, {found.us_per_token:.3g} us a token"


def _context(decode: Profile, longer: Profile | None, assumed: PrefillCost) -> tuple[float, str]:
    """Microseconds a context token, and where they come from."""
    if longer is not None:
        value = _slope(decode, longer)
        return value, (
            f"context fitted to contexts {decode.spec.context_tokens} and "
            f"{longer.spec.context_tokens}, {value:.3g} us a token"
        )
    model, bandwidth = decode.spec.model, decode.device.copy_gbps
    if bandwidth and model.dtype in BYTES_OF_DTYPE:
        held = kv_bytes_per_token(
            *(model.num_layers, model.num_kv_heads, model.head_dim, BYTES_OF_DTYPE[model.dtype]),
            model.tensor_parallel,
        )
        value = held / (bandwidth * 1e3)  # bytes over GB/s: nanoseconds; in us 1e-3 of it
        return value, f"context estimated from KV bytes over copy bandwidth, {value:.3g} us a token"
    return assumed.context_us_per_token, (
        f"context assumed, {assumed.context_us_per_token:.3g} us a token"
    )


def _slope(decode: Profile, longer: Profile) -> float:
    """Median over common sizes of time gained per token of context; 0 or more [us]."""
    more = longer.spec.context_tokens - decode.spec.context_tokens
    if more == 0:
        raise SettingError(
            f"Both profiles have a context of {decode.spec.context_tokens} tokens; what context "
            "costs takes two different ones."
        )
    one, two = (
        {row.size: row.replay_us for row in profile.rows if row.replay_us is not None}
        for profile in (decode, longer)
    )
    common = sorted(one.keys() & two.keys())
    if not common:
        raise SettingError("The two profiles have no replayed size in common; measure one.")
    return max(0.0, float(np.median([(two[b] - one[b]) / (b * more) for b in common])))


def _points(prompts: Profile) -> tuple[IntArray, FloatArray]:
    """Chunk tokens and their time, replayed where it was, else eager."""
    pairs = [
        (row.size, row.replay_us if row.replay_us is not None else row.eager_us)
        for row in prompts.rows
        if row.error is None
    ]
    known = [(size, us) for size, us in pairs if us is not None]
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
