"""FFNs of a mixture of experts: rows grouped by expert, one tile of rows and weights a program.

Which expert gets how many rows is known on the device only, so the number of groups is an upper
bound and the groups beyond the last find nothing to do.
"""

# Triton rewrites its functions and is not installed everywhere:
# pyright: reportIndexIssue=false, reportMissingImports=false

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from gpu_worker.targets import plain_ops
from gpu_worker.targets.kernels import fused

BLOCK_N, BLOCK_K = 64, 64


@triton.jit(do_not_specialize=["num_experts"])
def _grouped_kernel(
    x,
    weight,
    out,
    order,
    expert_of_group,
    start_of_group,
    end_of_group,
    num_experts,
    PAIRS_A_ROW: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
    PRECISION: tl.constexpr,
):
    group = tl.program_id(0)
    expert = tl.load(expert_of_group + group)
    if expert >= num_experts:
        return
    member = tl.load(start_of_group + group) + tl.arange(0, ROWS)
    live = member < tl.load(end_of_group + group)
    pair = tl.load(order + member, mask=live, other=0)
    row = pair // PAIRS_A_ROW
    n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    step = tl.arange(0, TILE_K)
    base = weight + expert.to(tl.int64) * N * K
    sums = tl.zeros([TILE_N, ROWS], tl.float32)
    for first in range(0, K, TILE_K):
        k = first + step
        w = tl.load(
            base + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0
        )
        v = tl.load(
            x + row[None, :] * K + k[:, None], mask=live[None, :] & (k[:, None] < K), other=0.0
        )
        sums = tl.dot(w, v, sums, input_precision=PRECISION)
    target = out + pair[None, :] * N + n[:, None]
    tl.store(target, sums.to(out.dtype.element_ty), mask=live[None, :] & (n[:, None] < N))


@dataclass(frozen=True)
class Groups:
    """Pairs (row, expert) sorted by expert and cut into groups of at most `rows`.

    order : (pairs,) int64; expert, start, end : (groups,) int64, positions in `order`
    """

    rows: int
    order: torch.Tensor
    expert: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor


def group_by_expert(who: torch.Tensor, num_experts: int) -> Groups:
    """who : (n, chosen) expert numbers. Shapes depend on sizes alone, never on values."""
    flat = who.flatten()
    pairs = len(flat)
    rows = 64 if pairs >= 32 * num_experts else 16
    order = torch.argsort(flat, stable=True)
    numbers = torch.arange(num_experts, device=who.device)
    counts = (flat.unsqueeze(1) == numbers).sum(0)
    groups = (counts + rows - 1) // rows
    group_end, pair_end = groups.cumsum(0), counts.cumsum(0)
    at = torch.arange(min(pairs, pairs // rows + num_experts), device=who.device)
    expert = torch.searchsorted(group_end, at, right=True)
    known = expert.clamp_max(num_experts - 1)
    nth = at - (group_end - groups)[known]
    start = (pair_end - counts)[known] + nth * rows
    return Groups(rows, order, expert, start, torch.minimum(start + rows, pair_end[known]))


def _product(
    x: torch.Tensor, weight: torch.Tensor, groups: Groups, pairs_a_row: int
) -> torch.Tensor:
    num_experts, n, k = weight.shape
    out = torch.empty((len(groups.order), n), dtype=x.dtype, device=x.device)
    _grouped_kernel[(len(groups.expert), triton.cdiv(n, BLOCK_N))](
        x,
        weight,
        out,
        groups.order,
        groups.expert,
        groups.start,
        groups.end,
        num_experts,
        PAIRS_A_ROW=pairs_a_row,
        N=n,
        K=k,
        ROWS=groups.rows,
        TILE_N=BLOCK_N,
        TILE_K=BLOCK_K,
        PRECISION="ieee" if x.dtype == torch.float32 else "tf32",
        num_warps=4,
        num_stages=4,
    )
    return out


def experts(
    x: torch.Tensor,
    router: torch.Tensor,
    gate_up: torch.Tensor,
    down: torch.Tensor,
    chosen: int,
) -> torch.Tensor:
    """As plain_ops.experts, each row on its own experts only."""
    who, shares = plain_ops.route(x, router, chosen)
    groups = group_by_expert(who, len(gate_up))
    inner = fused.gated_activation(_product(x, gate_up, groups, chosen))
    out = _product(inner, down, groups, 1)
    return (out.view(len(x), chosen, -1).float() * shares.unsqueeze(-1)).sum(1).to(x.dtype)
