"""A trace as the loop takes it: checked, in ticks, without what can never be served."""

from __future__ import annotations

import numpy as np

from core.errors import SettingError
from core.records import IntArray, Trace
from core.simulation.kernel.names import CLOCK_END
from core.simulation.machine import Machine
from core.simulation.state import Load

TICKS_PER_S = 10**11
"""Ticks of 10 ps: fine enough for a token of context, and half of 64 bits' range is 266 days."""


def check_trace(trace: Trace, concurrency: int | None) -> None:
    """Raises SettingError if the trace cannot be simulated."""
    if len(trace) == 0:
        raise SettingError("The trace holds no request; there is nothing to simulate.")
    if concurrency is not None:
        if int(concurrency) != concurrency or concurrency < 1:
            raise SettingError(f"concurrency is {concurrency}; it must be 1 or more.")
        return
    if trace.arrival_s is None:
        raise SettingError(
            "The trace has no arrival times; give it a rate (poisson_arrivals) or simulate a "
            "closed loop with a concurrency."
        )
    if not np.isfinite(trace.arrival_s).all() or (np.diff(trace.arrival_s) < 0).any():
        raise SettingError("The trace's arrivals are not in order; sort its requests by arrival.")
    if trace.arrival_s[0] < 0 or trace.arrival_s[-1] >= CLOCK_END / TICKS_PER_S:
        raise SettingError(
            f"The trace's arrivals reach from {trace.arrival_s[0]:g} s to "
            f"{trace.arrival_s[-1]:g} s; they must start at 0 s or later and end within 266 days."
        )


def can_be_served(trace: Trace, machine: Machine) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) whether a request fits into the KV cache when it is alone in it.

    It needs prompt + output - 1 tokens (the last is never stored), and with drafts up to two
    drafts' worth of tokens that are verified past its end.
    """
    kv = trace.prompt_tokens + np.maximum(trace.output_tokens, 1) - 1 + 2 * machine.draft_tokens
    return -(-kv // machine.block_size_tokens) <= machine.blocks


def serving_load(trace: Trace, machine: Machine) -> tuple[IntArray, Load]:
    """Indices of the requests that can be served, and those requests.

    A prompt or output of 0 tokens counts as 1: an engine makes a token of every prompt. Prefix
    hits are whole blocks and leave the last prompt token to compute, as in vLLM.
    Raises SettingError if a length is negative.
    """
    for name in ("prompt_tokens", "output_tokens"):
        low = int(getattr(trace, name).min())
        if low < 0:
            raise SettingError(f"The trace's {name} holds {low}; a token count is 0 or more.")
    served = np.flatnonzero(can_be_served(trace, machine))
    prompt = np.maximum(trace.prompt_tokens[served], 1).astype(np.int64)
    output = np.maximum(trace.output_tokens[served], 1).astype(np.int64)
    hit = np.zeros(len(served), np.int64)
    if machine.prefix_cache and trace.prefix_hit_tokens is not None:
        block = machine.block_size_tokens
        hit = np.clip(trace.prefix_hit_tokens[served], 0, prompt - 1) // block * block
    arrival = np.zeros(len(served), np.int64)
    if trace.arrival_s is not None:
        arrival = np.rint(trace.arrival_s[served] * TICKS_PER_S).astype(np.int64)
    return served, Load(arrival, prompt, output, hit.astype(np.int64))
