"""The arrays that the loop of kernel works on: as numpy for numba, as lists for plain Python."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.records import IntArray
from core.simulation.kernel.names import (
    BLOCK,
    BLOCKS,
    BUDGET,
    CLOSED,
    CONTEXT_TICKS,
    COUNT,
    DRAFTS,
    EMIT_DENOMINATOR,
    EMIT_NUMERATOR,
    FREE,
    FREE_SLOTS,
    GAP_BINS,
    HEAD,
    INTERVAL,
    MAX_SEQS,
    MIXED_CONTEXT_TICKS,
    MIXED_ROW_TICKS,
    NEVER,
    NUM_SCALARS,
    PAIR_TICKS,
    PARTIAL,
    PROMPT_TICKS,
    RELEASED,
    SAMPLES,
    SEPARATE,
    TAIL,
    WHOLE_PROMPT,
)


class Engine(NamedTuple):
    """Everything that changes while the loop runs. Times in ticks, lengths in tokens.

    Per request (n,): arrival, prompt, output, hit; first, finish (-1: not yet); generated (kept
    up to date while it waits), last (time of its last token, while it waits to be recomputed).
    Per slot of a decoding request (max_num_seqs,): request, residue, key (value of EMITTED at
    which it is done), before and after (admission order), heap and place (by key), free.
    Per step size: decode, mixed and their floors (given times), decode_steps, mixed_steps,
    mixed_rows, mixed_running (counts).
    ring (block,) decoding requests by the step that needs their next block; stack: preempted
    requests, last one first; batch: prefills that end in this step; cohort_*: decoding requests
    by the time of their last token; gaps: inter-token times by bin; series_*: samples.
    """

    arrival: Any
    prompt: Any
    output: Any
    hit: Any
    first: Any
    finish: Any
    generated: Any
    last: Any
    request: Any
    residue: Any
    key: Any
    before: Any
    after: Any
    heap: Any
    place: Any
    free: Any
    decode: Any
    decode_floor: Any
    mixed: Any
    mixed_floor: Any
    decode_steps: Any
    mixed_steps: Any
    mixed_rows: Any
    mixed_running: Any
    ring: Any
    stack: Any
    batch: Any
    cohort_time: Any
    cohort_count: Any
    gaps: Any
    series_time: Any
    series_running: Any
    series_waiting: Any
    series_blocks: Any


class Load(NamedTuple):
    """Requests that can be served, as int64 arrays (n,); arrivals in ticks, nondecreasing."""

    arrival: IntArray
    prompt: IntArray
    output: IntArray
    hit: IntArray


class Rules(NamedTuple):
    """What the loop needs of the machine; step times in ticks by size."""

    blocks: int
    block: int
    max_seqs: int
    budget: int
    separate: bool
    whole_prompt: bool
    drafts: int
    emit: tuple[int, int]
    decode: IntArray
    decode_floor: IntArray
    mixed: IntArray
    mixed_floor: IntArray
    context_ticks: int
    mixed_context_ticks: int
    pair_ticks: int
    prompt_ticks: int
    mixed_row_ticks: int = 0


def new_engine(load: Load, rules: Rules, concurrency: int | None) -> tuple[Engine, IntArray]:
    """Arrays and scalars of an engine that has done nothing yet.

    concurrency : requests kept in flight (closed loop); None: they arrive when the load says.
    """
    arrival = load.arrival.copy()
    if concurrency is not None:
        arrival[:] = NEVER
        arrival[:concurrency] = 0
    given = {
        "arrival": arrival,
        "prompt": load.prompt,
        "output": load.output,
        "hit": load.hit,
        "first": np.full(len(arrival), -1, np.int64),
        "finish": np.full(len(arrival), -1, np.int64),
        "free": np.arange(rules.max_seqs, dtype=np.int64),
        "decode": rules.decode,
        "decode_floor": rules.decode_floor,
        "mixed": rules.mixed,
        "mixed_floor": rules.mixed_floor,
    }
    lengths = (
        (len(arrival), ("generated", "last")),
        (rules.max_seqs, ("request", "residue", "key", "before", "after", "heap", "place")),
        (rules.max_seqs + 1, ("decode_steps", "mixed_rows", "mixed_running", "stack", "batch")),
        (rules.max_seqs + 1, ("cohort_time", "cohort_count")),
        (rules.budget + 1, ("mixed_steps",)),
        (rules.block, ("ring",)),
        (GAP_BINS, ("gaps",)),
        (SAMPLES, ("series_time", "series_running", "series_waiting", "series_blocks")),
    )
    zeros = [(name, np.zeros(length, np.int64)) for length, names in lengths for name in names]
    return Engine(**given, **dict(zeros)), _scalars(load, rules, concurrency)


def _scalars(load: Load, rules: Rules, concurrency: int | None) -> IntArray:
    scalars = np.zeros(NUM_SCALARS, np.int64)
    values = {
        BLOCK: rules.block,
        BLOCKS: rules.blocks,
        FREE: rules.blocks,
        MAX_SEQS: rules.max_seqs,
        FREE_SLOTS: rules.max_seqs,
        BUDGET: rules.budget,
        SEPARATE: int(rules.separate),
        WHOLE_PROMPT: int(rules.whole_prompt),
        DRAFTS: rules.drafts,
        EMIT_NUMERATOR: rules.emit[0],
        EMIT_DENOMINATOR: rules.emit[1],
        CONTEXT_TICKS: rules.context_ticks,
        MIXED_CONTEXT_TICKS: rules.mixed_context_ticks,
        PAIR_TICKS: rules.pair_ticks,
        PROMPT_TICKS: rules.prompt_ticks,
        MIXED_ROW_TICKS: rules.mixed_row_ticks,
        COUNT: len(load.arrival),
        CLOSED: concurrency or 0,
        RELEASED: concurrency or 0,
        PARTIAL: -1,
        HEAD: -1,
        TAIL: -1,
        INTERVAL: max(1, int(load.arrival[-1]) // SAMPLES) if len(load.arrival) else 1,
    }
    for index, value in values.items():
        scalars[index] = value
    return scalars


def as_lists(engine: Engine, scalars: IntArray) -> tuple[Engine, list[int]]:
    """The same as lists of Python integers, which plain Python indexes far faster than arrays."""
    return Engine(*(array.tolist() for array in engine)), scalars.tolist()


def as_arrays(engine: Engine, scalars: list[int]) -> tuple[Engine, IntArray]:
    """Back to numpy."""
    return Engine(*(np.array(x, np.int64) for x in engine)), np.array(scalars, np.int64)
