"""The decode step as a whole, on the CPU: padding, blocks, bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.errors import SettingError
from core.records import MeasureSpec
from gpu_worker.bench import Bench
from gpu_worker.buffers import ReboundInputError, StaticInputs
from gpu_worker.correctness import compare
from gpu_worker.targets import build, llama
from tests.gpu_worker.conftest import TINY, tiny_spec

CPU = torch.device("cpu")


def make(spec: MeasureSpec) -> tuple[llama.LlamaStep, StaticInputs]:
    target = llama.build(spec, CPU)
    return target, StaticInputs(target.fields(), target.padding(), max(spec.sizes), CPU)


def cache_of(target: llama.LlamaStep) -> torch.Tensor:
    """(layers, 2, blocks, block, heads, dim), a copy."""
    return torch.stack([torch.stack(pair) for pair in target.cache])


def test_padded_rows_change_nothing_for_live_ones() -> None:
    """Three requests in a bucket of four: the same logits as alone, to rounding, and outside of
    their own slots only block 0, which no request owns, is written."""
    target, inputs = make(tiny_spec(4))
    batch = target.batch(3, 0)
    before = cache_of(target)
    inputs.copy_in(inputs.stage(batch))
    alone = target.step(inputs.views(3))
    padded = target.step(inputs.views(4))
    torch.testing.assert_close(padded[:3], alone, atol=1e-5, rtol=1e-5)
    changed = (cache_of(target) != before).flatten(4).any(-1).any(0).any(0).flatten()
    live = set(batch["slots"].tolist())
    written = set(changed.nonzero().flatten().tolist())
    assert live <= written <= live | {0}


def test_rows_left_from_a_larger_batch_become_padding() -> None:
    """Four requests, then two in the same bucket: the two old rows point to block 0."""
    target, inputs = make(tiny_spec(4))
    inputs.copy_in(inputs.stage(target.batch(4, 0)))
    inputs.copy_in(inputs.stage(target.batch(2, 1)))
    for name, value in target.padding().items():
        assert (inputs.tensors[name][2:] == value).all(), name


def test_a_step_depends_on_its_inputs() -> None:
    """Another round gives other logits: nothing is frozen."""
    target, inputs = make(tiny_spec(2))
    outputs = []
    for round in (0, 1):
        inputs.copy_in(inputs.stage(target.batch(2, round)))
        outputs.append(target.step(inputs.views(2)).clone())
    assert not compare(outputs[0], outputs[1]).equal


def test_the_same_inputs_give_the_same_step() -> None:
    """Running a step twice leaves cache and logits as they were: eager and replay may be
    compared one after the other."""
    target, inputs = make(tiny_spec(2))
    inputs.copy_in(inputs.stage(target.batch(2, 0)))
    first, cache = target.step(inputs.views(2)).clone(), cache_of(target)
    assert compare(target.step(inputs.views(2)), first).max_abs_error == 0.0
    assert torch.equal(cache_of(target), cache)


def test_requests_own_their_blocks() -> None:
    """No block twice, none is block 0, and the slot is the last token's place."""
    target, _ = make(tiny_spec(8))
    batch = target.batch(8, 3)
    blocks = batch["tables"].flatten().tolist()
    assert len(set(blocks)) == len(blocks) and 0 not in blocks
    # 24 tokens in blocks of 16: the last, number 23, is offset 7 of the second block.
    assert torch.equal(batch["slots"], batch["tables"][:, 1] * 16 + 7)


def test_bytes_by_hand() -> None:
    """Layer: qkv 8*16*64, out 64*64, gate and up 256*64, down 64*128, two norms of 64; twice;
    head 97*64 and a last norm; all times 4 bytes. KV: 2 * 2 layers * 2 heads * 16 * 4 bytes."""
    target, _ = make(tiny_spec(4))
    layer = 8 * 16 * 64 + 64 * 64 + 256 * 64 + 64 * 128 + 2 * 64
    assert target.weight_bytes() == (2 * layer + 97 * 64 + 64) * 4
    assert target.kv_bytes_per_token() == 2 * 2 * 2 * 16 * 4
    assert target.bytes_moved(3) == target.weight_bytes() + 3 * 24 * 512


def test_sizes_that_do_not_fit_the_cache_are_rows_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two requests of two blocks fit in what is free; the bucket of four says so, the others
    are measured."""
    spec = tiny_spec(1, 2, 4)
    block_bytes = 16 * 512
    monkeypatch.setattr(llama.LlamaStep, "_free_bytes", lambda _: int(5.1 * block_bytes / 0.75))
    bench = Bench(spec)
    rows = {size: bench.row(size) for size in spec.measuring_order}
    assert rows[4].error is not None
    assert (
        "4 requests with 24 tokens of context do not fit" in rows[4].error
        and "holds 2" in rows[4].error
    )
    assert rows[2].error is None and rows[1].error is None


def test_no_room_for_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing can be measured at all, in one sentence."""
    monkeypatch.setattr(llama.LlamaStep, "_free_bytes", lambda _: 1000)
    with pytest.raises(SettingError, match="does not fit beside the weights"):
        llama.build(tiny_spec(1), CPU)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"num_heads": 3}, "3 heads cannot share 2 KV heads"),
        ({"head_dim": 7}, "needs an even one"),
        ({"dtype": "int8"}, "dtype 'int8' is not supported"),
    ],
)
def test_shapes_that_cannot_be_built(change: dict, text: str) -> None:
    """One sentence with the value."""
    with pytest.raises(SettingError, match=text):
        llama.build(tiny_spec(1, model=replace(TINY, **change)), CPU)


def test_unknown_target() -> None:
    """The known ones are listed."""
    with pytest.raises(SettingError, match="use one of llama, llama-prefill, callable"):
        build(tiny_spec(1, target="mamba"), CPU)


def test_a_replaced_input_is_named() -> None:
    """A graph keeps reading the old tensor, so a new one is an error, not a quiet wrong result."""
    target, inputs = make(tiny_spec(2))
    inputs.check_addresses()
    inputs.tensors["lengths"] = inputs.tensors["lengths"].clone()
    with pytest.raises(ReboundInputError, match="'lengths'"):
        inputs.check_addresses()


def test_nan_is_never_equal() -> None:
    """NaN or infinity on either side fails."""
    good = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert compare(good, good.clone()).equal
    for value in (float("nan"), float("inf")):
        bad = good.clone()
        bad[1, 0] = value
        for pair in ((bad, good), (good, bad), (bad, bad)):
            verdict = compare(*pair)
            assert not verdict.equal and verdict.worst_row == 1, (value, verdict)


def test_distance_by_hand() -> None:
    """Row (3, 4) has norm 5; moved by (0.3, 0.4) it is 0.5 / 5 = 10 % away. In float32 0.01 % is
    allowed, in bfloat16 3 %."""
    reference = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
    verdict = compare(torch.tensor([[1.0, 0.0], [3.3, 4.4]]), reference)
    assert verdict.worst_row == 1 and abs(verdict.distance - 0.1) < 1e-6
    assert abs(verdict.max_abs_error - 0.4) < 1e-6 and not verdict.equal
    near = reference * (1 + 9e-5)
    assert compare(near, reference).equal
    assert not compare(reference * (1 + 1.1e-4), reference).equal
    coarse = reference.bfloat16()
    assert compare(coarse * 1.015625, coarse).equal
    assert not compare(coarse * 1.0625, coarse).equal


def test_one_wrong_row_of_many_is_found() -> None:
    """Row by row, not on average: 511 good rows do not hide a bad one."""
    reference = torch.randn(512, 64)
    got = reference.clone()
    got[200] = reference[201]
    verdict = compare(got, reference)
    assert not verdict.equal and verdict.worst_row == 200
