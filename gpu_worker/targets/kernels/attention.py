"""Attention of one query a request over a paged KV cache, split along the context.

Few requests would leave most of the card idle if each had one program a head; so the context is
cut into splits that run side by side, and a second kernel joins them. The number of splits is
fixed when a graph is captured; a request whose context ends before a split skips it.
"""

# Triton rewrites its functions and is not installed everywhere:
# pyright: reportIndexIssue=false, reportMissingImports=false

from __future__ import annotations

import torch
import triton
import triton.language as tl

TILE_TOKENS = 64
PROGRAMS_PER_PROCESSOR = 4
LOG2_E = 1.4426950408889634


@triton.jit(do_not_specialize=["table_width", "split_tokens", "num_splits"])
def _split_kernel(
    query,
    keys,
    values,
    tables,
    lengths,
    out,
    partial,
    weights,
    scale,
    table_width,
    split_tokens,
    num_splits,
    NUM_KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    GROUP_PADDED: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_TOKENS: tl.constexpr,
    TILE: tl.constexpr,
    ONE_SPLIT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    row, head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    length = tl.load(lengths + row)
    start = split * split_tokens
    end = tl.minimum(start + split_tokens, length)
    member, dim = tl.arange(0, GROUP_PADDED), tl.arange(0, HEAD_DIM)
    is_member = member < GROUP
    query_head = (row * NUM_KV_HEADS + head) * GROUP + member
    q = tl.load(
        query + query_head[:, None] * HEAD_DIM + dim[None, :], mask=is_member[:, None], other=0.0
    )
    top = tl.full([GROUP_PADDED], float("-inf"), tl.float32)
    total = tl.zeros([GROUP_PADDED], tl.float32)
    sums = tl.zeros([GROUP_PADDED, HEAD_DIM], tl.float32)
    for first in range(start, end, TILE):
        token = first + tl.arange(0, TILE)
        live = token < end
        block = tl.load(tables + row * table_width + token // BLOCK_TOKENS, mask=live, other=0)
        slot = block.to(tl.int64) * BLOCK_TOKENS + token % BLOCK_TOKENS
        at = (slot * NUM_KV_HEADS + head) * HEAD_DIM
        k = tl.load(keys + at[None, :] + dim[:, None], mask=live[None, :], other=0.0)
        v = tl.load(values + at[:, None] + dim[None, :], mask=live[:, None], other=0.0)
        score = tl.dot(q, k, input_precision=PRECISION) * scale
        score = tl.where(live[None, :], score, float("-inf"))
        new_top = tl.maximum(top, tl.max(score, 1))
        shrink = tl.exp2(top - new_top)
        share = tl.exp2(score - new_top[:, None])
        total = total * shrink + tl.sum(share, 1)
        sums = sums * shrink[:, None]
        sums += tl.dot(share.to(v.dtype), v, input_precision=PRECISION)
        top = new_top
    if ONE_SPLIT:
        tl.store(
            out + query_head[:, None] * HEAD_DIM + dim[None, :],
            (sums / total[:, None]).to(out.dtype.element_ty),
            mask=is_member[:, None],
        )
    else:
        at = query_head * num_splits + split
        # A split past the end has seen nothing: weight -inf tells the second kernel to skip it.
        seen = total > 0
        tl.store(weights + at, tl.where(seen, top + tl.log2(total), float("-inf")), mask=is_member)
        tl.store(
            partial + at[:, None] * HEAD_DIM + dim[None, :],
            sums / total[:, None],
            mask=(is_member & seen)[:, None],
        )


@triton.jit(do_not_specialize=["num_splits"])
def _join_kernel(
    partial, weights, out, num_splits, HEAD_DIM: tl.constexpr, SPLITS_PADDED: tl.constexpr
):
    row = tl.program_id(0)
    split, dim = tl.arange(0, SPLITS_PADDED), tl.arange(0, HEAD_DIM)
    weight = tl.load(
        weights + row * num_splits + split, mask=split < num_splits, other=float("-inf")
    )
    seen = weight > float("-inf")
    share = tl.exp2(weight - tl.max(weight, 0))
    part = tl.load(
        partial + (row * num_splits + split)[:, None] * HEAD_DIM + dim[None, :],
        mask=seen[:, None],
        other=0.0,
    )
    joined = tl.sum(part * share[:, None], 0) / tl.sum(share, 0)
    tl.store(out + row * HEAD_DIM + dim, joined.to(out.dtype.element_ty))


def plan_splits(
    num_rows: int, num_kv_heads: int, max_tokens: int, processors: int
) -> tuple[int, int]:
    """How the context is cut: (splits, tokens a split), whole tiles each.

    Enough programs to fill the card, but no split shorter than a tile.
    """
    tiles = -(-max_tokens // TILE_TOKENS)
    wanted = -(-PROGRAMS_PER_PROCESSOR * processors // (num_rows * num_kv_heads))
    tiles_a_split = -(-tiles // max(1, min(tiles, wanted)))
    return -(-tiles // tiles_a_split), tiles_a_split * TILE_TOKENS


def attend(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    tables: torch.Tensor,
    lengths: torch.Tensor,
    processors: int,
) -> torch.Tensor:
    """As plain_ops.attend. processors: multiprocessors of the card."""
    num_rows, num_heads, head_dim = query.shape
    block_tokens, num_kv_heads = keys.shape[1:3]
    width = tables.shape[1]
    splits, tokens = plan_splits(num_rows, num_kv_heads, width * block_tokens, processors)
    out = torch.empty_like(query)
    partial = weights = out
    if splits > 1:
        kwargs = {"dtype": torch.float32, "device": query.device}
        partial = torch.empty((num_rows, num_heads, splits, head_dim), **kwargs)
        weights = torch.empty((num_rows, num_heads, splits), **kwargs)
    group = num_heads // num_kv_heads
    _split_kernel[(num_rows, num_kv_heads, splits)](
        query,
        keys,
        values,
        tables,
        lengths,
        out,
        partial,
        weights,
        head_dim**-0.5 * LOG2_E,
        tables.stride(0),
        tokens,
        splits,
        NUM_KV_HEADS=num_kv_heads,
        GROUP=group,
        GROUP_PADDED=max(16, triton.next_power_of_2(group)),
        HEAD_DIM=head_dim,
        BLOCK_TOKENS=block_tokens,
        TILE=TILE_TOKENS,
        ONE_SPLIT=splits == 1,
        PRECISION="ieee" if query.dtype == torch.float32 else "tf32",
        num_warps=4,
        num_stages=3,
    )
    if splits > 1:
        _join_kernel[(num_rows * num_heads,)](
            partial,
            weights,
            out,
            splits,
            HEAD_DIM=head_dim,
            SPLITS_PADDED=triton.next_power_of_2(splits),
            num_warps=1,
        )
    return out.view(num_rows, num_heads * head_dim)
