"""A matrix product for few rows, which is all about reading the weights once and fast.

Above MAX_ROWS the card's own library is used: it is as fast or faster there.
"""

# Triton rewrites its functions and is not installed everywhere:
# pyright: reportIndexIssue=false, reportMissingImports=false

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch.nn import functional

MAX_ROWS = 16


@triton.jit
def _linear_kernel(
    x,
    weight,
    out,
    num_rows,
    N: tl.constexpr,
    K: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m, step = tl.arange(0, ROWS), tl.arange(0, BLOCK_K)
    whole: tl.constexpr = N % BLOCK_N == 0 and K % BLOCK_K == 0
    sums = tl.zeros([BLOCK_N, ROWS], tl.float32)
    for first in range(0, K, BLOCK_K):
        k = first + step
        at = weight + n[:, None].to(tl.int64) * K + k[None, :]
        if whole:
            w = tl.load(at, eviction_policy="evict_first")
            v = tl.load(x + m[None, :] * K + k[:, None], mask=m[None, :] < num_rows, other=0.0)
        else:
            w = tl.load(at, mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
            live = (m[None, :] < num_rows) & (k[:, None] < K)
            v = tl.load(x + m[None, :] * K + k[:, None], mask=live, other=0.0)
        sums = tl.dot(w, v, sums, input_precision=PRECISION)
    target = out + m[None, :] * N + n[:, None]
    mask = (m[None, :] < num_rows) & (n[:, None] < N)
    tl.store(target, sums.to(out.dtype.element_ty), mask=mask)


@triton.jit
def _one_row_kernel(
    x,
    weight,
    out,
    N: tl.constexpr,
    K: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    step = tl.arange(0, BLOCK_K)
    whole: tl.constexpr = N % BLOCK_N == 0 and K % BLOCK_K == 0
    sums = tl.zeros([BLOCK_N, BLOCK_K], tl.float32)
    for first in range(0, K, BLOCK_K):
        k = first + step
        at = weight + n[:, None].to(tl.int64) * K + k[None, :]
        if whole:
            w = tl.load(at, eviction_policy="evict_first")
            v = tl.load(x + k)
        else:
            w = tl.load(at, mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
            v = tl.load(x + k, mask=k < K, other=0.0)
        sums += w.to(tl.float32) * v.to(tl.float32)[None, :]
    tl.store(out + n, tl.sum(sums, 1).to(out.dtype.element_ty), mask=n < N)


def linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x @ weight.T. x: (rows, K), weight: (N, K), out: (rows, N)."""
    if len(x) > MAX_ROWS:
        return functional.linear(x, weight)
    return few_rows(x, weight, 32, 256, 4, 4)


def few_rows(
    x: torch.Tensor, weight: torch.Tensor, block_n: int, block_k: int, warps: int, stages: int
) -> torch.Tensor:
    """The product for at most 16 rows with a given tiling."""
    out = torch.empty((len(x), len(weight)), dtype=x.dtype, device=x.device)
    _linear_kernel[(triton.cdiv(len(weight), block_n),)](
        x,
        weight,
        out,
        len(x),
        N=weight.shape[0],
        K=weight.shape[1],
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        ROWS=16,
        PRECISION="ieee" if x.dtype == torch.float32 else "tf32",
        num_warps=warps,
        num_stages=stages,
    )
    return out


def one_row(
    x: torch.Tensor, weight: torch.Tensor, block_n: int, block_k: int, warps: int, stages: int
) -> torch.Tensor:
    """The product for one row with a given tiling."""
    out = torch.empty((1, len(weight)), dtype=x.dtype, device=x.device)
    _one_row_kernel[(triton.cdiv(len(weight), block_n),)](
        x,
        weight,
        out,
        N=weight.shape[0],
        K=weight.shape[1],
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        num_warps=warps,
        num_stages=stages,
    )
    return out
