"""What is amiss with a run before it begins, in sentences."""

from __future__ import annotations

import numpy as np

from core.errors import SettingError
from core.records import IntArray, Trace
from core.simulation.load import can_be_served, check_trace
from core.simulation.machine import Machine

NAMED = 5
"""Requests that never fit which a sentence names."""


def warnings_before(trace: Trace, machine: Machine, concurrency: int | None = None) -> list[str]:
    """What will be left out or cannot take effect; empty when all is well.

    Raises SettingError where nothing could be served at all.
    """
    check_trace(trace, concurrency)
    refused = np.flatnonzero(~can_be_served(trace, machine)).astype(np.int64)
    found = []
    if len(refused) == len(trace):
        longest = int((trace.prompt_tokens + trace.output_tokens).min())
        raise SettingError(
            f"None of the {len(trace):,} requests fits into the KV cache of {machine.kv_tokens:,} "
            f"tokens; the shortest has {longest:,}. Raise the KV cache or capture fewer graphs."
        )
    if len(refused):
        found.append(rejection(trace, machine, refused))
    if concurrency is not None and concurrency > machine.max_num_seqs:
        found.append(
            f"A closed loop of {concurrency:,} keeps {concurrency - machine.max_num_seqs:,} "
            f"requests waiting all the time: max_num_seqs is {machine.max_num_seqs:,}."
        )
    return found


def rejection(trace: Trace, machine: Machine, refused: IntArray) -> str:
    """Names the first few requests that can never fit, and counts all."""
    named = ", ".join(
        f"request {i} ({trace.prompt_tokens[i]:,} + {trace.output_tokens[i]:,} tokens)"
        for i in refused[:NAMED].tolist()
    )
    more = f" and {len(refused) - NAMED:,} more" if len(refused) > NAMED else ""
    return (
        f"{len(refused):,} of {len(trace):,} requests can never fit into {machine.blocks:,} KV "
        f"blocks of {machine.block_size_tokens} tokens and are rejected: {named}{more}."
    )
