"""Targets beside the dense decode step: prefill chunks, experts, shards, the user's own."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.errors import SettingError
from core.records import CaptureMode, ModelShape, SizeUnit
from gpu_worker.bench import Bench, capture_of
from gpu_worker.buffers import StaticInputs
from gpu_worker.correctness import compare
from gpu_worker.recording import PiecewiseCapture
from gpu_worker.targets import build, llama, llama_prefill, plain_ops
from gpu_worker.targets.callable import SETTING
from gpu_worker.targets.llama_weights import shard_of
from tests.gpu_worker.conftest import TINY, tiny_spec

CPU = torch.device("cpu")
OWN = "callable:tests.gpu_worker.own_step:make"


def test_a_prefill_chunk_is_its_tokens_decoded_one_by_one() -> None:
    """Seven tokens after a context of 20, in one chunk of a bucket of eight, or step by step: the
    same logits, the same keys and values."""
    spec = tiny_spec(8, target="llama-prefill", context_tokens=20)
    assert spec.unit is SizeUnit.TOKENS
    chunk = llama_prefill.build(spec, CPU)
    batch = chunk.batch(7, 0)
    before = [tensor.clone() for tensor in chunk.state()]
    inputs = StaticInputs(chunk.fields(), chunk.padding(), 8, CPU)
    inputs.copy_in(inputs.stage(batch))
    got = chunk.step(inputs.views(8))[:7]
    after = [tensor.clone() for tensor in chunk.state()]

    single = llama.build(tiny_spec(1, context_tokens=28), CPU)
    single.weights, single.cos_sin = chunk.weights, chunk.cos_sin
    single.cache = list(zip(before[::2], before[1::2], strict=True))
    rows = []
    for at in range(7):
        position = int(batch["positions"][at])
        step = {
            "tokens": batch["tokens"][at : at + 1],
            "positions": torch.tensor([position]),
            "slots": batch["slots"][at : at + 1],
            "lengths": torch.tensor([position + 1]),
            "tables": chunk._table.unsqueeze(0),
        }
        rows.append(single.step({name: t.int() for name, t in step.items()}))
    assert compare(got, torch.cat(rows)).equal
    for mine, other in zip(after, single.state(), strict=True):
        torch.testing.assert_close(mine[1:], other[1:], atol=1e-5, rtol=1e-5)


def test_prefill_rows_on_the_cpu() -> None:
    """Chunks are measured like batches; their sizes are tokens."""
    bench = Bench(tiny_spec(4, 8, target="llama-prefill", context_tokens=20))
    for size in (8, 4):
        row = bench.row(size)
        assert row.error is None and row.eager_us


def naive_experts(
    x: torch.Tensor, router: torch.Tensor, gate_up: torch.Tensor, down: torch.Tensor, chosen: int
) -> torch.Tensor:
    """Row by row, only the chosen experts, in float64."""
    out = []
    for row in x.double():
        odds = torch.softmax(router.double() @ row, 0)
        best = odds.argsort(descending=True)[:chosen].tolist()
        total = sum(odds[e] for e in best)
        parts = []
        for e in best:
            gate, up = (gate_up[e].double() @ row).chunk(2)
            parts.append(odds[e] / total * (down[e].double() @ (gate * gate.sigmoid() * up)))
        out.append(torch.stack(parts).sum(0))
    return torch.stack(out)


@pytest.mark.parametrize(("number", "chosen"), [(4, 1), (4, 2), (3, 3)])
def test_experts_against_a_loop(number: int, chosen: int) -> None:
    """Each row is the share-weighted sum of its chosen experts alone."""
    torch.manual_seed(0)
    x, router = torch.randn(5, 16), torch.randn(number, 16)
    gate_up, down = torch.randn(number, 24, 16), torch.randn(number, 16, 12)
    got = plain_ops.experts(x, router, gate_up, down, chosen)
    want = naive_experts(x, router, gate_up, down, chosen)
    torch.testing.assert_close(got.double(), want, atol=1e-4, rtol=1e-4)


def test_a_step_with_experts() -> None:
    """Padding does not change live rows; bytes count the experts that random routing reaches."""
    model = replace(TINY, num_experts=4, experts_per_token=2)
    target = llama.build(tiny_spec(4, model=model), CPU)
    inputs = StaticInputs(target.fields(), target.padding(), 4, CPU)
    inputs.copy_in(inputs.stage(target.batch(3, 0)))
    assert compare(target.step(inputs.views(4))[:3], target.step(inputs.views(3))).equal
    # One row reaches 2 of 4 experts; 2 rows reach 1 - (1/2)**2 = 3/4 of them.
    expert_bytes = 2 * 4 * (256 * 64 + 64 * 128) * 4
    assert target.weight_bytes(2) - target.weight_bytes(1) == expert_bytes // 4


def test_shards_by_hand() -> None:
    """8 heads, 2 KV heads, 128 FFN columns and 96 words over 4 ranks: 2, 1 (repeated), 32, 24."""
    shape = replace(TINY, num_heads=8, vocab_size=96, tensor_parallel=4)
    shard = shard_of(shape)
    assert (shard.num_heads, shard.num_kv_heads, shard.ffn_size, shard.vocab_size) == (2, 1, 32, 24)
    target = llama.build(tiny_spec(2, model=shape), CPU)
    out = target.step(StaticInputs(target.fields(), target.padding(), 2, CPU).views(2))
    assert out.shape == (2, 24)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tensor_parallel": 3}, "num_heads is 4; 3 ranks cannot share it"),
        (
            {"num_kv_heads": 3, "num_heads": 6, "vocab_size": 96, "tensor_parallel": 2},
            "3 KV heads cannot be spread",
        ),
        ({"experts_per_token": 2}, "experts_per_token is 2, but there are 1"),
    ],
)
def test_shards_that_cannot_be(change: dict[str, int], text: str) -> None:
    """One sentence with the numbers."""
    with pytest.raises(SettingError, match=text):
        shard_of(replace(TINY, **change))


def test_pieces_make_the_step() -> None:
    """Layers + 1 captured parts, a gap for each attention between them, and their sequence gives
    what the step gives."""
    spec = tiny_spec(2, capture=CaptureMode.PIECEWISE)
    target = llama.build(spec, CPU)
    assert [piece.captured for piece in target.pieces()] == [True, False, True, False, True]
    how = capture_of(spec, target)
    assert isinstance(how, PiecewiseCapture)
    inputs = StaticInputs(target.fields(), target.padding(), 2, CPU)
    inputs.copy_in(inputs.stage(target.batch(2, 0)))
    assert torch.equal(how.step(inputs.views(2)), target.step(inputs.views(2)))


def test_a_step_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured like ours; what it does not tell is not guessed."""
    monkeypatch.setenv(SETTING, "a.b:c, tests.gpu_worker.own_step:make")
    spec = tiny_spec(2, 4, target=OWN)
    target = build(spec, CPU)
    inputs = StaticInputs(target.fields(), target.padding(), 4, CPU)
    inputs.copy_in(inputs.stage(target.batch(2, 1)))
    assert target.step(inputs.views(2)).tolist() == [[2.0, 4.0, 6.0, 8.0]] * 2
    assert target.bytes_moved(2) is None and target.capacity() == 4 and list(target.state()) == []
    assert Bench(spec).row(4).eager_us
    with pytest.raises(SettingError, match="has no pieces"):
        capture_of(replace(spec, capture=CaptureMode.PIECEWISE), target)


@pytest.mark.parametrize(
    ("allowed", "target", "text"),
    [
        ("", OWN, "is not allowed on this worker"),
        ("os:getcwd", "callable:os:system", "is not allowed on this worker"),
        ("no.such:thing", "callable:no.such:thing", "cannot be loaded: No module named"),
        ("math:nothing", "callable:math:nothing", "cannot be loaded"),
        (
            "tests.gpu_worker.own_step:make_nothing",
            "callable:tests.gpu_worker.own_step:make_nothing",
            r"has no fields\(\)",
        ),
    ],
)
def test_code_by_name_needs_leave(
    monkeypatch: pytest.MonkeyPatch, allowed: str, target: str, text: str
) -> None:
    """Only factories that the worker's own environment lists are called."""
    monkeypatch.setenv(SETTING, allowed)
    with pytest.raises(SettingError, match=text):
        build(tiny_spec(1, target=target), CPU)


def test_default_shape_is_dense_and_whole() -> None:
    """A spec from before experts and shards means what it meant."""
    shape = ModelShape()
    assert (shape.num_experts, shape.experts_per_token, shape.tensor_parallel) == (1, 1, 1)
    assert shard_of(shape) == shape
