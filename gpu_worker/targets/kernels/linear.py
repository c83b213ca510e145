"""A matrix product for few rows, which is all about reading the weights once and fast.

Above MAX_ROWS the card's own library is used: it is as fast or faster there.
"""

# Triton rewrites its functions and is not installed everywhere:
# pyright: reportIndexIssue=false, reportMissingImports=false

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import torch
import triton
import triton.language as tl
from torch.nn import functional

MAX_ROWS = 32
WIDE = 16384
"""From this many weight rows on the tiles alone fill the card several times over."""
RESERVED_SHARED_BYTES = 4096


@triton.jit(do_not_specialize=["num_rows"])
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


@dataclass(frozen=True)
class Tiling:
    """How a product is cut: weight rows and columns a program holds at a time."""

    block_n: int
    block_k: int
    warps: int
    stages: int

    def within(self, shared_bytes: int, rows: int, itemsize: int) -> Tiling:
        """With as many stages as the multiprocessor's shared memory holds."""
        stage = self.block_k * (self.block_n + rows) * itemsize
        return replace(self, stages=max(1, min(self.stages, shared_bytes // stage)))


def tiling_for(rows: int, n: int, k: int) -> Tiling:
    """The fastest of those tried on an H200 with bfloat16 (docs/measurements.md)."""
    if rows == 1:
        return Tiling(16, 256, 4, 4) if n >= WIDE else Tiling(16, 512, 8, 3)
    if n >= WIDE:
        return Tiling(64, 128, 4, 4)
    return Tiling(32, 256, 4, 6) if k > n and rows <= 16 else Tiling(64, 128, 4, 6)


@cache
def shared_bytes(device: torch.device) -> int:
    """Shared memory that one program may ask for [bytes]."""
    return torch.cuda.get_device_properties(device).shared_memory_per_block_optin


def linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x @ weight.T. x: (rows, K), weight: (N, K), out: (rows, N)."""
    if len(x) > MAX_ROWS:
        return functional.linear(x, weight)
    tiling = tiling_for(len(x), *weight.shape)
    if len(x) == 1:
        return one_row(x, weight, tiling)
    room = shared_bytes(x.device) - RESERVED_SHARED_BYTES
    return few_rows(x, weight, tiling.within(room, padded_rows(len(x)), x.element_size()))


def padded_rows(rows: int) -> int:
    """Rows that a tile of the product holds: a power of two, 16 at least."""
    return max(16, triton.next_power_of_2(rows))


def few_rows(x: torch.Tensor, weight: torch.Tensor, tiling: Tiling) -> torch.Tensor:
    """The product on matrix units, for as many rows as fit one tile."""
    out = torch.empty((len(x), len(weight)), dtype=x.dtype, device=x.device)
    _linear_kernel[(triton.cdiv(len(weight), tiling.block_n),)](
        x,
        weight,
        out,
        len(x),
        N=weight.shape[0],
        K=weight.shape[1],
        BLOCK_N=tiling.block_n,
        BLOCK_K=tiling.block_k,
        ROWS=padded_rows(len(x)),
        PRECISION="ieee" if x.dtype == torch.float32 else "tf32",
        num_warps=tiling.warps,
        num_stages=tiling.stages,
    )
    return out


def one_row(x: torch.Tensor, weight: torch.Tensor, tiling: Tiling) -> torch.Tensor:
    """The product for one row, by plain multiplication."""
    out = torch.empty((1, len(weight)), dtype=x.dtype, device=x.device)
    _one_row_kernel[(triton.cdiv(len(weight), tiling.block_n),)](
        x,
        weight,
        out,
        N=weight.shape[0],
        K=weight.shape[1],
        BLOCK_N=tiling.block_n,
        BLOCK_K=tiling.block_k,
        num_warps=tiling.warps,
        num_stages=tiling.stages,
    )
    return out
