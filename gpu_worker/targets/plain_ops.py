"""The step's parts in plain torch: they run on any device and are the reference for kernels.

Shapes: n rows, h hidden, q query heads, k KV heads, d head_dim, b blocks a request, s block size.
"""

from __future__ import annotations

import torch
from torch.nn import functional

EPSILON = 1e-5


def add_norm(
    x: torch.Tensor, residual: torch.Tensor | None, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """RMS norm of x + residual. x, residual: (n, h). Returns (normed, sum), both (n, h)."""
    total = x if residual is None else x + residual
    scale = torch.rsqrt(total.float().square().mean(-1, keepdim=True) + EPSILON)
    return (total.float() * scale).to(x.dtype) * weight, total


def rotate_and_store(
    qkv: torch.Tensor,
    positions: torch.Tensor,
    cos_sin: torch.Tensor,
    slots: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
) -> torch.Tensor:
    """Rotary embedding; keys and values written to their slots.

    qkv : (n, (q + 2k) * d); cos_sin : (positions, d), cosines then sines
    keys, values : (blocks, s, k, d), written in place; slots : (n,) block * s + offset
    Returns the rotated queries (n, q, d).
    """
    num_kv_heads, head_dim = keys.shape[2:]
    heads = qkv.view(len(qkv), -1, head_dim)
    query, key, value = heads.split(
        [heads.shape[1] - 2 * num_kv_heads, num_kv_heads, num_kv_heads], dim=1
    )
    cos, sin = cos_sin[positions].unsqueeze(1).float().chunk(2, dim=-1)
    index = slots.long()
    keys.view(-1, num_kv_heads, head_dim).index_copy_(0, index, _rotate(key, cos, sin))
    values.view(-1, num_kv_heads, head_dim).index_copy_(0, index, value)
    return _rotate(query, cos, sin)


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


def attend(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    tables: torch.Tensor,
    lengths: torch.Tensor,
) -> torch.Tensor:
    """Attention of one query a request over its own blocks.

    query : (n, q, d); tables : (n, b) block numbers; lengths : (n,) live tokens, at least 1
    Returns (n, q * d).
    """
    num_rows, num_heads, head_dim = query.shape
    num_kv_heads = keys.shape[2]
    live_keys = keys[tables.long()].flatten(1, 2).transpose(1, 2)
    live_values = values[tables.long()].flatten(1, 2).transpose(1, 2)
    position = torch.arange(live_keys.shape[2], device=query.device)
    mask = position.unsqueeze(0) < lengths.unsqueeze(1)
    # A slot nobody has written may hold anything; weight 0 times NaN would still be NaN.
    live_values = live_values.masked_fill(~mask[:, None, :, None], 0)
    out = functional.scaled_dot_product_attention(
        query.unsqueeze(2),
        live_keys,
        live_values,
        attn_mask=mask[:, None, None, :],
        enable_gqa=num_heads != num_kv_heads,
    )
    return out.reshape(num_rows, num_heads * head_dim)


def gated_activation(gate_up: torch.Tensor) -> torch.Tensor:
    """SiLU(gate) * up. gate_up: (n, 2f) -> (n, f)."""
    gate, up = gate_up.chunk(2, dim=-1)
    return functional.silu(gate) * up


def route(x: torch.Tensor, router: torch.Tensor, chosen: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The experts of each row and their shares, which sum to 1. Both (n, chosen)."""
    odds = functional.linear(x, router).float().softmax(-1)
    shares, experts = odds.topk(chosen, dim=-1)
    return experts, shares / shares.sum(-1, keepdim=True)


def experts(
    x: torch.Tensor,
    router: torch.Tensor,
    gate_up: torch.Tensor,
    down: torch.Tensor,
    chosen: int,
) -> torch.Tensor:
    """The rows' experts' FFNs, summed by their shares. x: (n, h) -> (n, h).

    Every expert runs on every row and most of it is weighted by 0: plain, of fixed shape, slow.
    gate_up : (experts, 2f, h); down : (experts, h, f)
    """
    who, shares = route(x, router, chosen)
    total = torch.zeros_like(x, dtype=torch.float32)
    for number in range(len(gate_up)):
        share = torch.where(who == number, shares, 0.0).sum(-1, keepdim=True)
        inner = gated_activation(functional.linear(x, gate_up[number]))
        total += share * functional.linear(inner, down[number]).float()
    return total.to(x.dtype)
