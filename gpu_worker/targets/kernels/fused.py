"""Norm with residual, rotary with KV store, gated activation: one kernel each."""

# Triton rewrites its functions and is not installed everywhere:
# pyright: reportIndexIssue=false, reportMissingImports=false

from __future__ import annotations

import torch
import triton
import triton.language as tl

from gpu_worker.targets.plain_ops import EPSILON

ACTIVATION_BLOCK = 1024


@triton.jit
def _add_norm_kernel(
    x,
    residual,
    weight,
    normed,
    total,
    width,
    epsilon,
    HAS_RESIDUAL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < width
    at = row * width + column
    value = tl.load(x + at, mask=mask, other=0.0)
    if HAS_RESIDUAL:
        # Rounded before the norm, as a separate addition would have left it.
        value = (value.to(tl.float32) + tl.load(residual + at, mask=mask, other=0.0)).to(
            value.dtype
        )
        tl.store(total + at, value, mask=mask)
    wide = value.to(tl.float32)
    scale = tl.rsqrt(tl.sum(wide * wide, 0) / width + epsilon)
    scaled = (wide * scale).to(value.dtype) * tl.load(weight + column, mask=mask, other=0.0)
    tl.store(normed + at, scaled, mask=mask)


@triton.jit
def _rotate_kernel(
    qkv,
    positions,
    cos_sin,
    slots,
    query,
    keys,
    values,
    NUM_HEADS: tl.constexpr,
    NUM_KV_HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    HALF: tl.constexpr,
    HALF_PADDED: tl.constexpr,
):
    row, head = tl.program_id(0), tl.program_id(1)
    dim = tl.arange(0, HALF_PADDED)
    mask = dim < HALF
    source = qkv + (row * (NUM_HEADS + 2 * NUM_KV_HEADS) + head) * HEAD_DIM + dim
    first = tl.load(source, mask=mask)
    second = tl.load(source + HALF, mask=mask)
    slot = tl.load(slots + row).to(tl.int64)
    target = values + (slot * NUM_KV_HEADS + head - NUM_HEADS - NUM_KV_HEADS) * HEAD_DIM + dim
    if head < NUM_HEADS + NUM_KV_HEADS:
        turn = cos_sin + tl.load(positions + row).to(tl.int64) * HEAD_DIM + dim
        cos, sin = tl.load(turn, mask=mask), tl.load(turn + HALF, mask=mask)
        left, right = first.to(tl.float32), second.to(tl.float32)
        first = (left * cos - right * sin).to(first.dtype)
        second = (right * cos + left * sin).to(second.dtype)
        if head < NUM_HEADS:
            target = query + (row * NUM_HEADS + head) * HEAD_DIM + dim
        else:
            target = keys + (slot * NUM_KV_HEADS + head - NUM_HEADS) * HEAD_DIM + dim
    tl.store(target, first, mask=mask)
    tl.store(target + HALF, second, mask=mask)


@triton.jit
def _activation_kernel(gate_up, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < width
    gate = tl.load(gate_up + row * 2 * width + column, mask=mask, other=0.0)
    up = tl.load(gate_up + row * 2 * width + width + column, mask=mask, other=0.0)
    wide = gate.to(tl.float32)
    silu = (wide / (1.0 + tl.exp(-wide))).to(gate.dtype)
    tl.store(out + row * width + column, silu * up, mask=mask)


def add_norm(
    x: torch.Tensor, residual: torch.Tensor | None, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """As plain_ops.add_norm."""
    rows, width = x.shape
    normed = torch.empty_like(x)
    total = x if residual is None else torch.empty_like(x)
    block = triton.next_power_of_2(width)
    _add_norm_kernel[(rows,)](
        x,
        x if residual is None else residual,
        weight,
        normed,
        total,
        width,
        EPSILON,
        HAS_RESIDUAL=residual is not None,
        BLOCK=block,
        num_warps=min(16, max(1, block // 256)),
    )
    return normed, total


def rotate_and_store(
    qkv: torch.Tensor,
    positions: torch.Tensor,
    cos_sin: torch.Tensor,
    slots: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
) -> torch.Tensor:
    """As plain_ops.rotate_and_store."""
    num_kv_heads, head_dim = keys.shape[2:]
    num_heads = qkv.shape[1] // head_dim - 2 * num_kv_heads
    query = torch.empty((len(qkv), num_heads, head_dim), dtype=qkv.dtype, device=qkv.device)
    _rotate_kernel[(len(qkv), num_heads + 2 * num_kv_heads)](
        qkv,
        positions,
        cos_sin,
        slots,
        query,
        keys,
        values,
        NUM_HEADS=num_heads,
        NUM_KV_HEADS=num_kv_heads,
        HEAD_DIM=head_dim,
        HALF=head_dim // 2,
        HALF_PADDED=triton.next_power_of_2(head_dim // 2),
        num_warps=1,
    )
    return query


def gated_activation(gate_up: torch.Tensor) -> torch.Tensor:
    """As plain_ops.gated_activation."""
    rows, width = len(gate_up), gate_up.shape[1] // 2
    out = torch.empty((rows, width), dtype=gate_up.dtype, device=gate_up.device)
    _activation_kernel[(rows, triton.cdiv(width, ACTIVATION_BLOCK))](
        gate_up, out, width, BLOCK=ACTIVATION_BLOCK, num_warps=4
    )
    return out
