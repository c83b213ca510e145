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

# Ratios to the smallest replay, from the steps of vLLM 0.23 with an 8B Llama shape in bf16 on one
# H200 (docs/validation.md): there it takes 5.8 ms.
BASE_STEPS = 0.75
"""A step with prefill, before its tokens."""
TOKENS_PER_STEP = 305.0
"""Tokens (19 us each) that take as long."""
PROMPT_STEPS = 0.25
"""Each prompt in a step: admission, and attention of its own."""
PAIRS_PER_STEP = 3_700_000.0
"""Pairs of a prompt token and a token that it attends to."""
CONTEXT_PER_STEP = 193_000.0
"""Context tokens (0.03 us each) that a decode step reads in that time."""
MIXED_CONTEXT_PER_STEP = 95_000.0
"""The same in a step with prefill, where attention is less efficient."""
REFERENCE_CONTEXT = 256
"""Context at which the assumed decode steps were taken [tokens]."""


@dataclass(frozen=True)
class PrefillCost:
    """What a StepCost does not say: prompts, and how a step grows with context.

    A step with prefill takes base_us + us_per_token x its tokens (decoding ones too)
    + us_per_prompt x prompts in it + us_per_pair x the tokens that their tokens attend to
    + mixed_context_us_per_token x the KV tokens that its decoding requests read, but no less than
    the shortest decode step. A decode step takes context_us_per_token for each KV token read
    beyond `reference_context_tokens` a request, which its curve holds already.
    mixed_context_us_per_token : None takes context_us_per_token
    captured : steps with prefill replay graphs too where a captured size holds all their tokens
        (vLLM's piecewise graphs), so that they are spared the launch time of an eager step
    us_per_row : the host's part of each decoding request in a step with prefill, not overlapped
        with the card's work
    floor_us : the least that a step with prefill takes on a graph; None takes the shortest decode
        step, and for steps without a graph the shortest eager one
    uncaptured_us : what a step with prefill takes longer where no captured size holds its tokens
    padded : whether a captured step with prefill computes its bucket's tokens, not its own
    """

    base_us: float
    us_per_token: float
    context_us_per_token: float
    reference_context_tokens: int
    origin: Origin
    source: str
    captured: bool = True
    us_per_prompt: float = 0.0
    us_per_pair: float = 0.0
    mixed_context_us_per_token: float | None = None
    us_per_row: float = 0.0
    floor_us: float | None = None
    uncaptured_us: float = 0.0
    padded: bool = False

    def __post_init__(self) -> None:
        for name in (
            *("base_us", "us_per_token", "context_us_per_token", "reference_context_tokens"),
            *("us_per_prompt", "us_per_pair", "mixed_context_us_per_token"),
            *("us_per_row", "floor_us", "uncaptured_us"),
        ):
            value = getattr(self, name)
            if value is not None and (not math.isfinite(value) or value < 0):
                raise SettingError(f"{name} is {value}; it must be 0 or more.")


def most_context_us(cost: StepCost, reference_context_tokens: int, max_rows: int) -> float:
    """The context coefficient at which the reference takes nine tenths of some decode step [us].

    More is not credible: the curve would hold little but context.
    """
    rows = np.arange(1, max_rows + 1, dtype=np.int64)
    least = np.minimum(replay_us_at(cost, rows), eager_us_at(cost, rows))
    return float((0.9 * least / (rows * max(1, reference_context_tokens))).min())


def assumed_prefill(
    cost: StepCost, reference_context_tokens: int | None = None, max_rows: int = 1024
) -> PrefillCost:
    """Prompts and context in proportion to the smallest replay of `cost`.

    reference_context_tokens : context at which `cost` was measured; 256 when not known.
    max_rows : context is assumed cheap enough for decode steps of so many requests
    Right for a card and a model whose ratios are those of an 8B model on an H200; labelled so.
    """
    smallest = float(replay_us_at(cost, [1])[0])
    reference = REFERENCE_CONTEXT if reference_context_tokens is None else reference_context_tokens
    token = smallest / TOKENS_PER_STEP
    context = min(smallest / CONTEXT_PER_STEP, most_context_us(cost, reference, max_rows))
    return PrefillCost(
        BASE_STEPS * smallest,
        token,
        context,
        reference,
        Origin.ASSUMED,
        f"prefill assumed: {token:.3g} µs a token, and {context:.3g} µs a token of context beyond "
        f"{reference} (the ratios of an 8B model in bf16 on one H200 under vLLM 0.23)",
        us_per_prompt=PROMPT_STEPS * smallest,
        us_per_pair=smallest / PAIRS_PER_STEP,
        mixed_context_us_per_token=smallest / MIXED_CONTEXT_PER_STEP,
    )


@dataclass(frozen=True)
class StepTimes:
    """Time of every step the machine can make, without its context; never below its floor.

    decode_us, decode_floor_us : (max_num_seqs + 1,) a decode step of so many requests: what the
        card takes, and what submitting it takes [us]
    mixed_us, mixed_floor_us : (max_num_batched_tokens + 1,) a step with prefill of so many tokens
    context_us, mixed_context_us : for each KV token that decoding requests read [us]
    pair_us, prompt_us : for each token a prompt token attends to, for each prompt in a step [us]
    mixed_row_us : the host's part of each decoding request in a step with prefill, beside all else
    mixed_bucket : (max_num_batched_tokens + 1,) graph of a step with prefill [tokens]; -1 none
    bucket : (max_num_seqs + 1,) what the decode step replays [unit of the cost]; -1 eager
    sizes : (max_num_seqs + 1,) its unpadded size in the same unit
    """

    decode_us: FloatArray
    decode_floor_us: FloatArray
    mixed_us: FloatArray
    mixed_floor_us: FloatArray
    context_us: float
    mixed_context_us: float
    pair_us: float
    prompt_us: float
    bucket: IntArray
    sizes: IntArray
    origin: Origin
    source: str
    mixed_row_us: float
    mixed_bucket: IntArray

    def longest_us(self, kv_tokens: int) -> float:
        """More than any step can take that reads up to `kv_tokens` [us]."""
        tables = (self.decode_us, self.decode_floor_us, self.mixed_us, self.mixed_floor_us)
        context = max(self.context_us, self.mixed_context_us) * kv_tokens
        prompts = (self.prompt_us + self.pair_us * kv_tokens) * (len(self.mixed_us) - 1)
        host = self.mixed_row_us * (len(self.decode_us) - 1)
        return float(max(table.max() for table in tables)) + context + prompts + host


def step_times(
    cost: StepCost,
    machine: Machine,
    capture_sizes: Sequence[int] | IntArray | None,
    prefill: PrefillCost | None = None,
    buckets: IntArray | None = None,
) -> StepTimes:
    """Times from a decode curve, the captured sizes and a cost of prompts.

    An eager step takes what its curve says, and longer once its context outgrows the launch time:
    the card needs no more than a replay of the same size.
    capture_sizes : in the unit of the cost; None or empty: every step runs eager
    prefill : None takes `assumed_prefill`
    buckets : (max_num_seqs + 1,) what a decode step of so many requests replays by an engine's own
        rule, -1 eager [unit of the cost]; None: the smallest captured size that holds it
    Raises CaptureSizesError, SettingError.
    """
    prefill = prefill or assumed_prefill(cost, max_rows=machine.max_num_seqs)
    requests = np.arange(machine.max_num_seqs + 1, dtype=np.int64)
    width = machine.tokens_per_decode if cost.unit is SizeUnit.TOKENS else 1
    sizes = requests * width
    bucket = _buckets(sizes, capture_sizes) if buckets is None else _given(buckets, sizes)
    device, submit = _decode(cost, sizes, bucket)
    host = cost.row_us * sizes
    tokens = np.arange(machine.max_num_batched_tokens + 1, dtype=np.int64)
    mixed_bucket = _buckets(tokens, capture_sizes if prefill.captured else None)
    mixed, mixed_floor = _mixed(cost, prefill, tokens, mixed_bucket)
    mixed_context = prefill.mixed_context_us_per_token
    return StepTimes(
        _without_context(device, requests, prefill) + host,
        np.where(bucket == EAGER, submit + host, 0.0),
        mixed,
        mixed_floor,
        prefill.context_us_per_token,
        prefill.context_us_per_token if mixed_context is None else mixed_context,
        prefill.us_per_pair,
        prefill.us_per_prompt,
        bucket,
        sizes,
        weakest((cost.origin, prefill.origin)),
        f"{cost.source}; {prefill.source}",
        prefill.us_per_row,
        mixed_bucket,
    )


def _decode(cost: StepCost, sizes: IntArray, bucket: IntArray) -> tuple[FloatArray, FloatArray]:
    """What the card takes of decode steps, and what submitting eager ones takes: (n,) each [us]."""
    captured = bucket != EAGER
    eager = eager_us_at(cost, sizes)
    device = np.minimum(eager, replay_us_at(cost, sizes)).astype(np.float64)
    device[captured] = graph_step_us_at(cost, bucket[captured])
    return device, eager


def _mixed(
    cost: StepCost, prefill: PrefillCost, tokens: IntArray, bucket: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Steps with prefill by tokens, and the least they take: (n,) each [us].

    bucket : (n,) captured size that holds each, -1 where none does
    """
    fits = bucket != EAGER
    computed = np.where(fits & prefill.padded, bucket, tokens).astype(np.float64)
    late = np.where(fits, 0.0, prefill.uncaptured_us)
    if prefill.floor_us is None:
        floor = np.where(fits, graph_step_us_at(cost, [1])[0], eager_us_at(cost, [1])[0])
    else:
        floor = np.full(len(tokens), prefill.floor_us)
    return prefill.base_us + prefill.us_per_token * computed + late, floor + late


def _without_context(device: FloatArray, requests: IntArray, prefill: PrefillCost) -> FloatArray:
    """Decode times without the context they were measured at. Raises SettingError."""
    known = prefill.context_us_per_token * prefill.reference_context_tokens
    decode = device - known * requests
    if (decode[1:] <= 0).any():
        first = int(np.argmax(decode[1:] <= 0)) + 1
        raise SettingError(
            f"Reading {prefill.reference_context_tokens} tokens of context would take "
            f"{known * first:.0f} µs of a decode step of {first} requests that takes "
            f"{device[first]:.0f} µs; lower context_us_per_token."
        )
    return decode


def weakest(origins: Sequence[Origin]) -> Origin:
    """What a figure made of several may be called: the least certain of them."""
    order = (Origin.ASSUMED, Origin.ESTIMATED, Origin.FITTED, Origin.MEASURED)
    return next(origin for origin in order if origin in origins)


def _given(buckets: IntArray, sizes: IntArray) -> IntArray:
    """Raises SettingError where an engine's rule does not fit the machine."""
    if len(buckets) != len(sizes) or ((buckets < sizes) & (buckets != EAGER)).any():
        raise SettingError(
            f"The engine's rule tells {len(buckets)} buckets for {len(sizes)} batch sizes, or one "
            "smaller than its batch; ask it for 0 to max_num_seqs requests."
        )
    return buckets


def _buckets(sizes: IntArray, capture_sizes: Sequence[int] | IntArray | None) -> IntArray:
    if capture_sizes is None or len(capture_sizes) == 0:
        return np.full(len(sizes), EAGER, np.int64)
    return bucket_of(sizes, capture_sizes)
