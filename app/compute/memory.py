"""KV cache left beside graphs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import streamlit as st

from app.charts.memory import CapacityMark
from app.compute.cost import model_config
from app.compute.hashing import HASH
from app.inputs.memory_choice import MemoryChoice
from core import memory as memory_core
from core.buckets import Frontier
from core.records import (
    BucketSet,
    GraphMemory,
    PoolPolicy,
)


@lru_cache(maxsize=64)
def model_in_memory(config_text: str, tp: int) -> memory_core.ModelMemory:
    """A pasted model on so many cards. Raises ModelConfigError.

    Asked for dozens of times a run, so it is kept without st.cache_data's copy, which it needs not:
    nothing can change it.
    """
    return memory_core.model_memory(model_config(config_text), tp=tp)


@st.cache_data(max_entries=16, hash_funcs=HASH)
def capacity_curves(
    best: Frontier,
    choice: MemoryChoice,
    memory: GraphMemory,
    private: GraphMemory | None,
    takes_kv: bool,
) -> list[memory_core.CapacityCurve]:
    """KV left beside the best sets of 0, 1, 2 ... graphs: the chosen pool and private pools.

    private : graph memory in private pools; None: the same as in the chosen one
    takes_kv : whether the engine's graphs leave fewer KV tokens
    """
    sets = [(), *(point.sizes for point in best.points)]
    curves = {PoolPolicy.PRIVATE: private or memory} | {choice.policy: memory}
    policies = dict.fromkeys([choice.policy, *curves])
    return [_capacity(sets, choice, curves[policy], policy, takes_kv) for policy in policies]


def _capacity(
    sets: Sequence[Sequence[int]],
    choice: MemoryChoice,
    memory: GraphMemory,
    policy: PoolPolicy,
    takes_kv: bool,
) -> memory_core.CapacityCurve:
    return memory_core.capacity_curve(
        sets,
        free_bytes=choice.free_bytes,
        memory=memory,
        policy=policy,
        bytes_per_token=choice.kv_bytes_per_token,
        tokens_per_request=choice.tokens_per_request,
        takes_kv=takes_kv,
    )


def capacity_mark(
    bucket_set: BucketSet,
    colour: str,
    choice: MemoryChoice,
    memory: GraphMemory,
    takes_kv: bool,
) -> CapacityMark:
    """What one set's graphs take and leave, for its point on the chart."""
    curve = _capacity([bucket_set.sizes], choice, memory, choice.policy, takes_kv)
    return CapacityMark(
        bucket_set.name,
        len(bucket_set),
        float(curve.graph_bytes[0]),
        int(curve.kv_blocks[0]),
        int(curve.kv_tokens[0]),
        int(curve.requests[0]),
        float(curve.kv_lost[0]),
        colour,
    )
