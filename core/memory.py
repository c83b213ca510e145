"""What graphs take from the KV cache: pools, capacity, and the curve between the two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import SettingError
from core.model.memory import KvLayers, ModelMemory, kv_bytes_per_token, model_memory
from core.records import FloatArray, GraphMemory, IntArray, PoolPolicy, normalised_sizes
from core.step_cost import line_at

__all__ = [
    "CapacityCurve",
    "KvLayers",
    "ModelMemory",
    "capacity_curve",
    "graph_bytes",
    "held_tokens",
    "kv_bytes_per_token",
    "kv_capacity",
    "kv_tokens",
    "model_memory",
    "request_kv_bytes",
    "whole_kv_tokens",
]

BLOCK_SIZE_TOKENS = 16
"""Tokens a KV block, vLLM's default on CUDA."""


def graph_bytes(
    capture_sizes: Sequence[int] | IntArray, memory: GraphMemory, policy: PoolPolicy
) -> float:
    """Device memory of one graph for each capture size [bytes].

    Private pools add up. A shared pool captured largest first is as large as its largest graph:
    each smaller one reuses freed blocks. Captured smallest first, no freed block is large enough
    for the next graph, so every new record needs a block of its own (blocks are not joined).
    Each graph adds `graph_bytes` and all together `fixed_bytes` under every policy.
    Raises CaptureSizesError.
    """
    sizes = np.array(normalised_sizes(capture_sizes), np.int64)
    pools = line_at(memory.sizes, memory.pool_bytes, sizes)
    own = float(line_at(memory.sizes, memory.graph_bytes, sizes).sum()) + memory.fixed_bytes
    if policy is PoolPolicy.PRIVATE:
        return own + float(pools.sum())
    if policy is PoolPolicy.SHARED_LARGEST_FIRST:
        return own + float(pools.max())
    records = np.maximum.accumulate(pools)
    new = np.diff(records, prepend=0.0) > 0
    return own + float(records[new].sum())


def _checked(label: str, value: float, *, above: bool = False) -> float:
    if label == "Free memory" and value < 0:
        raise SettingError(
            f"Nothing is left for graphs and KV cache: {-value / 2**30:.2f} GiB are missing "
            "already. Use a larger card, a smaller model or type, or more tensor parallel."
        )
    if not math.isfinite(value) or value < 0 or (above and value == 0):
        need = "above 0" if above else "of 0 or more"
        raise SettingError(f"{label} is {value}; give a number {need}.")
    return float(value)


def kv_capacity(free_bytes: float, graph_bytes: float, kv_bytes_per_request: float) -> int:
    """Requests whose KV cache fits beside the graphs; 0 where the graphs alone do not fit.

    floor((free - graph memory) / KV bytes a request): 8 GiB free, 0.25 GiB a request, 4 graphs of
    0.5 GiB leave 24 requests, 8 graphs leave 16.
    Raises SettingError.
    """
    _checked("Free memory", free_bytes)
    _checked("Graph memory", graph_bytes)
    _checked("KV memory of a request", kv_bytes_per_request, above=True)
    return max(0, _floor((free_bytes - graph_bytes) / kv_bytes_per_request))


def kv_tokens(
    kv_bytes: float, bytes_per_token: float, block_size_tokens: int = BLOCK_SIZE_TOKENS
) -> tuple[int, int]:
    """Whole KV blocks and their tokens in kv_bytes; (0, 0) where nothing is left.

    Raises SettingError.
    """
    _checked("KV bytes a token", bytes_per_token, above=True)
    _checked("The KV block", block_size_tokens, above=True)
    blocks = max(0, _floor(kv_bytes / (bytes_per_token * block_size_tokens)))
    return blocks, blocks * block_size_tokens


def whole_kv_tokens(
    free_bytes: float, bytes_per_token: float, block_size_tokens: int = BLOCK_SIZE_TOKENS
) -> int:
    """KV tokens in whole blocks before any graph is captured.

    free_bytes : for graphs and KV cache together [bytes]
    Raises SettingError where less than nothing is free.
    """
    return kv_tokens(_checked("Free memory", free_bytes), bytes_per_token, block_size_tokens)[1]


def held_tokens(tokens: float, block_size_tokens: int = BLOCK_SIZE_TOKENS) -> int:
    """Tokens that a request of so many takes from the KV cache: whole blocks."""
    return math.ceil(tokens / block_size_tokens) * block_size_tokens


def request_kv_bytes(
    model: ModelMemory,
    tokens: Sequence[int] | IntArray,
    block_size_tokens: int = BLOCK_SIZE_TOKENS,
) -> FloatArray:
    """KV cache and state of requests of given lengths, in whole blocks: (n,) [bytes].

    tokens : (n,) prompt plus output, so at their longest; windows stop growing
    """
    _checked("The KV block", block_size_tokens, above=True)
    whole = np.ceil(np.asarray(tokens, float) / block_size_tokens) * block_size_tokens
    total = np.full(whole.shape, float(model.state_bytes))
    for layers in model.kv_layers:
        kept = whole if layers.window_tokens is None else np.minimum(whole, layers.window_tokens)
        total += layers.bytes_per_token * kept
    return total


def _floor(value: float) -> int:
    """floor, but 23.999999999 from decimal input is 24."""
    whole = round(value)
    return whole if abs(value - whole) <= 1e-9 * max(1.0, abs(value)) else math.floor(value)


@dataclass(frozen=True)
class CapacityCurve:
    """KV cache left beside bucket sets of growing number.

    num_graphs : (n,); graph_bytes : (n,) [bytes]; kv_blocks, kv_tokens : (n,)
    requests : (n,) whole requests, each in whole blocks
    concurrency : (n,) KV tokens / tokens a request, as engines print it
    kv_lost : (n,) share of the KV tokens without graphs that the graphs take
    """

    policy: PoolPolicy
    num_graphs: IntArray
    graph_bytes: FloatArray
    kv_blocks: IntArray
    kv_tokens: IntArray
    requests: IntArray
    concurrency: FloatArray
    kv_lost: FloatArray


def capacity_curve(
    sets: Sequence[Sequence[int]],
    *,
    free_bytes: float,
    memory: GraphMemory,
    policy: PoolPolicy,
    bytes_per_token: float,
    tokens_per_request: float,
    block_size_tokens: int = BLOCK_SIZE_TOKENS,
    takes_kv: bool = True,
) -> CapacityCurve:
    """KV tokens, blocks and requests that each set leaves; an empty set is "no graphs".

    free_bytes : for graphs and KV cache together [bytes]
    takes_kv : False for an engine whose graphs live in memory that its KV cache leaves alone
    Raises SettingError, CaptureSizesError.
    """
    whole = whole_kv_tokens(free_bytes, bytes_per_token, block_size_tokens)
    _checked("Tokens a request", tokens_per_request, above=True)
    taken = np.array([graph_bytes(s, memory, policy) if len(s) else 0.0 for s in sets])
    lost = taken if takes_kv else np.zeros(len(taken))
    left = [kv_tokens(free_bytes - used, bytes_per_token, block_size_tokens) for used in lost]
    tokens = np.array([tokens for _, tokens in left], np.int64)
    # A request holds whole blocks.
    per_request = held_tokens(tokens_per_request, block_size_tokens) // block_size_tokens
    blocks = np.array([blocks for blocks, _ in left], np.int64)
    return CapacityCurve(
        policy,
        np.array([len(set(s)) for s in sets], np.int64),
        taken,
        blocks,
        tokens,
        blocks // per_request,
        tokens / tokens_per_request,
        1.0 - tokens / whole if whole else np.zeros(len(sets)),
    )
