"""How long each step takes: decode by requests, steps with prefill by tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import SettingError
from core.padding import EAGER, bucket_of
from core.records import FloatArray, IntArray, Origin, SizeUnit, StepCost
from core.simulation.machine import Machine
from core.step_cost import eager_us_at, graph_step_us_at, replay_us_at

TOKENS_PER_STEP = 165.0
"""Prompt tokens that take as long as the weights take to read: 35 us a token beside 5.8 ms for
an 8B Llama shape in bf16 on one H200 (vLLM 0.23)."""
CONTEXT_PER_STEP = 193_000.0
"""Context tokens whose KV takes as long to read as the weights: 0.03 us beside 5.8 ms, ditto."""
REFERENCE_CONTEXT = 256
"""Context at which the assumed decode steps were taken [tokens]."""


@dataclass(frozen=True)
class PrefillCost:
    """What a StepCost does not say: prompts, and how a step grows with context.

    A step with prefill takes base_us + us_per_token x its tokens (decoding ones too), but no less
    than floor_us. Every step takes context_us_per_token more for each KV token that its decoding
    requests read; `reference_context_tokens` of them a request are in the decode curve already.
    captured : steps with prefill replay graphs too where a captured size holds all their tokens
        (vLLM's piecewise graphs), so that they are spared the launch time of an eager step
    """

    base_us: float
    us_per_token: float
    context_us_per_token: float
    reference_context_tokens: int
    origin: Origin
    source: str
    captured: bool = True

    def __post_init__(self) -> None:
        for name in ("base_us", "us_per_token", "context_us_per_token", "reference_context_tokens"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise SettingError(f"{name} is {value}; it must be 0 or more.")


def assumed_prefill(cost: StepCost, reference_context_tokens: int | None = None) -> PrefillCost:
    """Prompts and context in proportion to the smallest replay of `cost`.

    reference_context_tokens : context at which `cost` was measured; 256 when not known.
    Right for a card and a model whose ratios are those of an 8B model on an H200; labelled so.
    """
    smallest = float(replay_us_at(cost, [1])[0])
    reference = REFERENCE_CONTEXT if reference_context_tokens is None else reference_context_tokens
    token, context = smallest / TOKENS_PER_STEP, smallest / CONTEXT_PER_STEP
    return PrefillCost(
        0.0,
        token,
        context,
        reference,
        Origin.ASSUMED,
        f"prefill assumed: {token:.3g} us a token and {context:.3g} us a token of context beyond "
        f"{reference} (the ratios of an 8B model in bf16 on one H200 under vLLM 0.23)",
    )


@dataclass(frozen=True)
class StepTimes:
    """Time of every step the machine can make.

    decode_us : (max_num_seqs + 1,) a decode step of so many requests, without its context [us]
    mixed_us : (max_num_batched_tokens + 1,) a step with prefill of so many tokens, ditto [us]
    bucket : (max_num_seqs + 1,) what the decode step replays [unit of the cost]; -1 eager
    sizes : (max_num_seqs + 1,) its unpadded size in the same unit
    """

    decode_us: FloatArray
    mixed_us: FloatArray
    context_us_per_token: float
    bucket: IntArray
    sizes: IntArray
    origin: Origin
    source: str

    @property
    def longest_us(self) -> float:
        """The longest step without its context [us]."""
        return float(max(self.decode_us.max(), self.mixed_us.max()))


def step_times(
    cost: StepCost,
    machine: Machine,
    capture_sizes: Sequence[int] | IntArray | None,
    prefill: PrefillCost | None = None,
) -> StepTimes:
    """Times from a decode curve, the captured sizes and a cost of prompts.

    capture_sizes : in the unit of the cost; None or empty: every step runs eager
    prefill : None takes `assumed_prefill`
    Raises CaptureSizesError, SettingError.
    """
    prefill = prefill or assumed_prefill(cost)
    requests = np.arange(machine.max_num_seqs + 1, dtype=np.int64)
    width = machine.tokens_per_decode if cost.unit is SizeUnit.TOKENS else 1
    sizes = requests * width
    bucket = _buckets(sizes, capture_sizes)
    base = _run_us(cost, sizes, bucket)
    known = prefill.context_us_per_token * prefill.reference_context_tokens
    decode = base - known * requests
    if (decode[1:] <= 0).any():
        first = int(np.argmax(decode[1:] <= 0)) + 1
        raise SettingError(
            f"Reading {prefill.reference_context_tokens} tokens of context would take "
            f"{known * first:.0f} us of a decode step of {first} requests that takes "
            f"{base[first]:.0f} us; lower context_us_per_token."
        )
    tokens = np.arange(machine.max_num_batched_tokens + 1, dtype=np.int64)
    fits = _buckets(tokens, capture_sizes if prefill.captured else None) != EAGER
    floor = np.where(fits, graph_step_us_at(cost, [1])[0], eager_us_at(cost, [1])[0])
    mixed = np.maximum(prefill.base_us + prefill.us_per_token * tokens, floor)
    return StepTimes(
        decode,
        mixed,
        prefill.context_us_per_token,
        bucket,
        sizes,
        weakest((cost.origin, prefill.origin)),
        f"{cost.source}; {prefill.source}",
    )


def weakest(origins: Sequence[Origin]) -> Origin:
    """What a figure made of several may be called: the least certain of them."""
    order = (Origin.ASSUMED, Origin.ESTIMATED, Origin.FITTED, Origin.MEASURED)
    return next(origin for origin in order if origin in origins)


def _buckets(sizes: IntArray, capture_sizes: Sequence[int] | IntArray | None) -> IntArray:
    if capture_sizes is None or len(capture_sizes) == 0:
        return np.full(len(sizes), EAGER, np.int64)
    return bucket_of(sizes, capture_sizes)


def _run_us(cost: StepCost, sizes: IntArray, bucket: IntArray) -> FloatArray:
    """Replay at the bucket, or eager at the size itself; (n,) [us]."""
    captured = bucket != EAGER
    replayed = graph_step_us_at(cost, np.where(captured, bucket, 1))
    return np.where(captured, replayed, eager_us_at(cost, sizes))
