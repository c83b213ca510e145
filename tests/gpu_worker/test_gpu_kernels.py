"""Triton kernels against the plain parts, in the dtypes that models use."""

from __future__ import annotations

import pytest
import torch

from core.records import ModelShape
from gpu_worker.targets import ops, plain_ops

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card on this machine"),
]

# Relative error of the whole result; bfloat16 keeps 8 bits, float32 sums in another order.
TOLERANCE = {torch.bfloat16: 8e-3, torch.float16: 1e-3, torch.float32: 1e-5}
DTYPES = list(TOLERANCE)


def apart(got: torch.Tensor, want: torch.Tensor) -> float:
    """Norm of the difference over the norm of the reference; infinite when not finite."""
    if not got.isfinite().all():
        return float("inf")
    return ((got.double() - want.double()).norm() / want.double().norm()).item()


@pytest.fixture
def kernels() -> ops.Ops:
    chosen = ops.choose(torch.device("cuda", 0), ModelShape())
    if chosen.name != "triton":
        pytest.skip("this card or installation has no Triton kernels")
    return chosen


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("rows", "heads", "kv_heads", "head_dim", "block", "blocks"),
    [
        (1, 32, 8, 128, 16, 128),
        (3, 14, 2, 64, 16, 40),
        (130, 32, 8, 128, 16, 9),
        (2, 8, 8, 32, 8, 3),
    ],
)
def test_attention(
    kernels: ops.Ops, dtype: torch.dtype, rows: int, heads: int, kv_heads: int, head_dim: int,
    block: int, blocks: int,
) -> None:  # fmt: skip
    """Equal to plain attention in float64, every length from 1 to the table's end; slots beyond
    a request's length and blocks of nobody hold NaN."""
    torch.manual_seed(rows)
    size = (rows * blocks + 1, block, kv_heads, head_dim)
    keys, values = torch.randn(2, *size, dtype=dtype, device="cuda")
    tables = (torch.randperm(rows * blocks, device="cuda") + 1).view(rows, blocks)
    lengths = torch.randint(1, blocks * block + 1, (rows,), device="cuda")
    lengths[0], lengths[-1] = 1, blocks * block
    query = torch.randn(rows, heads, head_dim, dtype=dtype, device="cuda")
    wide = [t.double() for t in (query, keys, values)]
    want = plain_ops.attend(*wide, tables, lengths)
    dead = torch.arange(blocks * block, device="cuda") >= lengths[:, None]
    slots = (tables[:, :, None] * block + torch.arange(block, device="cuda")).flatten(1)
    for cache in (keys, values):
        cache.view(-1, kv_heads, head_dim)[slots[dead]] = float("nan")
        cache[0] = float("nan")
    got = kernels.attend(query, keys, values, tables.int(), lengths.int())
    assert apart(got, want) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [64, 896, 4096])
def test_norm(kernels: ops.Ops, dtype: torch.dtype, width: int) -> None:
    """With and without a residual."""
    x, residual = torch.randn(2, 5, width, dtype=dtype, device="cuda")
    weight = torch.rand(width, dtype=dtype, device="cuda")
    for other in (None, residual):
        got, want = kernels.add_norm(x, other, weight), plain_ops.add_norm(x, other, weight)
        assert apart(got[0], want[0]) < TOLERANCE[dtype]
        assert torch.equal(got[1], want[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("heads", "kv_heads", "head_dim"), [(32, 8, 128), (14, 2, 64)])
def test_rotate_and_store(
    kernels: ops.Ops, dtype: torch.dtype, heads: int, kv_heads: int, head_dim: int
) -> None:
    """Same queries, same cache, and every other slot untouched."""
    qkv = torch.randn(7, (heads + 2 * kv_heads) * head_dim, dtype=dtype, device="cuda")
    positions = torch.randint(0, 99, (7,), dtype=torch.int32, device="cuda")
    table = torch.randn(100, head_dim, device="cuda")
    slots = torch.randperm(80, device="cuda")[:7].int()
    caches = [torch.zeros(5, 16, kv_heads, head_dim, dtype=dtype, device="cuda") for _ in range(4)]
    got = kernels.rotate_and_store(qkv, positions, table, slots, *caches[:2])
    want = plain_ops.rotate_and_store(qkv, positions, table, slots, *caches[2:])
    assert apart(got, want) < TOLERANCE[dtype]
    assert apart(caches[0], caches[2]) < TOLERANCE[dtype]
    assert torch.equal(caches[1], caches[3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_gated_activation(kernels: ops.Ops, dtype: torch.dtype) -> None:
    """Widths that fill no whole block too."""
    for width in (128, 4864, 14336):
        gate_up = torch.randn(3, 2 * width, dtype=dtype, device="cuda")
        got, want = kernels.gated_activation(gate_up), plain_ops.gated_activation(gate_up)
        assert apart(got, want) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2, 7, 16, 17, 64])
@pytest.mark.parametrize(("n", "k"), [(6144, 4096), (1152, 896), (97, 72)])
def test_linear(kernels: ops.Ops, dtype: torch.dtype, rows: int, n: int, k: int) -> None:
    """Against float64, shapes that fill no whole tile included."""
    torch.backends.cuda.matmul.allow_tf32 = False
    x = torch.randn(rows, k, dtype=dtype, device="cuda")
    weight = torch.randn(n, k, dtype=dtype, device="cuda")
    want = x.double() @ weight.double().T
    assert apart(kernels.linear(x, weight), want) < TOLERANCE[dtype]
