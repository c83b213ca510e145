"""Tensors that captured graphs keep in their pool, from a model's shape, list and pool policy.

A shared pool is as large as its largest graph needs, so it grows with the largest size, not with
the number of graphs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.graph_memory.lists import GraphLists
from core.model.config import dtype_bytes
from core.records import ModelShape, PoolPolicy

_FLOAT32_BYTES = 4


def layer_tensor_bytes(shape: ModelShape, tokens: int) -> float:
    """Intermediate tensors of one layer on one card, which the next layer reuses [bytes].

    Three rows of the hidden size (input, residual, output), queries with keys and values, and
    three FFN rows (gate, up, their product), for each expert that a token takes.
    Raises ModelConfigError for a type that is not known.
    """
    heads = _a_card(shape.num_heads, shape) + 2 * _a_card(shape.num_kv_heads, shape)
    ffn = shape.experts_per_token * shape.ffn_size / shape.tensor_parallel
    elements = 3 * shape.hidden_size + heads * shape.head_dim + 3 * ffn
    return tokens * elements * dtype_bytes(shape.dtype, "The model's dtype")


def split_attention_bytes(shape: ModelShape, tokens: int, splits: int) -> float:
    """Partial results of attention that splits the context, recorded in full graphs [bytes].

    splits : upper bound that the engine gives the kernel at capture, so that the buffers are large
        enough for every replay; each split holds a row of every head and its sum in 32 bits.
    """
    heads = _a_card(shape.num_heads, shape)
    return float(splits * heads * tokens * (shape.head_dim + 1) * _FLOAT32_BYTES)


def _a_card(heads: int, shape: ModelShape) -> int:
    """Heads on one card; with more cards than heads each holds one, as engines replicate them."""
    return max(1, math.ceil(heads / shape.tensor_parallel))


def pool_tensor_bytes(
    lists: GraphLists, shape: ModelShape, splits: int, policy: PoolPolicy
) -> float:
    """What the tensors of all graphs take together, piecewise graphs captured first [bytes].

    Shared and largest first: one layer at the largest size, and the splits of the largest full
    graph. Smallest first: every size larger than all before needs blocks of its own. Private: every
    graph does.
    """
    layers = _rows_held((*lists.piecewise, *lists.full), policy)
    in_splits = _rows_held(lists.full, policy)
    once = layer_tensor_bytes(shape, layers) + split_attention_bytes(shape, in_splits, splits)
    return once * (lists.variants if policy is PoolPolicy.PRIVATE else 1)


def _rows_held(sizes: Sequence[int], policy: PoolPolicy) -> int:
    """Rows of tensors that stay allocated after capturing these sizes, each kind ascending."""
    if policy is PoolPolicy.PRIVATE:
        return sum(sizes)
    if policy is PoolPolicy.SHARED_LARGEST_FIRST:
        return max(sizes, default=0)
    rows = largest = 0
    for size in sizes:
        if size > largest:
            rows, largest = rows + size, size
    return rows
