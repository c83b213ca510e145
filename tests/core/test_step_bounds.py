"""What can be measured at all: bounds by hand, and what a card's memory holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.inputs.parsing import parse_sizes
from core.cards import memory_of_device
from core.errors import CaptureSizesError, SettingError
from core.model.step_bounds import (
    CPU_CACHE_BYTES,
    MAX_CONTEXT_TOKENS,
    MAX_SIZE,
    Device,
    check_step,
    largest_size,
    weight_bytes,
)
from core.records import MeasureSpec, ModelShape

CPU = Device("a worker without a card", CPU_CACHE_BYTES, holds_weights=False)
H200 = Device("NVIDIA H200", 143_771 * 2**20)
LLAMA_8B = ModelShape("llama-8b", 32, 4096, 32, 8, 128, 14336, 128256)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (MeasureSpec((1, 999_999_999)), "Size 999,999,999 requests .* the bound is 1,048,576"),
        (MeasureSpec((1,), context_tokens=2**25), "33,554,432 tokens .* bound is 16,777,216"),
        (MeasureSpec((1,), samples=10**9), "1,000,000,000 samples .* bound is 10,000"),
        (MeasureSpec(tuple(range(1, 5000))), "4,999 sizes .* bound is 4,096"),
        (MeasureSpec((10**7,), "callable:my:step"), "10,000,000 requests"),
    ],
)
def test_what_no_device_can_is_refused(spec, words):
    """The value, the bound and the way out, whatever will measure."""
    with pytest.raises(SettingError, match=words) as refused:
        check_step(spec)
    assert str(refused.value).endswith(("sizes.", "one.", "fewer.", "job."))


def test_the_bounds_themselves_are_allowed():
    """A bound is the last value that is taken."""
    check_step(MeasureSpec((MAX_SIZE,), context_tokens=MAX_CONTEXT_TOKENS, samples=10_000))


def test_kv_cache_of_a_cpu_by_hand():
    """2 x 4 layers x 4 heads x 64 x 2 bytes are 4 KiB a token; 512 tokens 2 MiB a request; 1.5 of
    the 2 GiB are 24,576 blocks of 64 KiB, one of them padding's: 767 requests of 32 blocks."""
    spec = MeasureSpec((768,))
    assert largest_size(spec, CPU) == 767
    check_step(replace(spec, sizes=(767,)), CPU)
    with pytest.raises(
        SettingError, match=r"768 requests .* 512 tokens takes 1.5 GiB, .* up to 767"
    ):
        check_step(spec, CPU)


def test_kv_cache_of_a_card_by_hand():
    """128 KiB a token: 64 MiB a request of 512 tokens; 0.75 x 143,771 MiB hold 1,684 of them."""
    spec = MeasureSpec((4096,), model=LLAMA_8B)
    assert largest_size(spec, H200) == 1684
    with pytest.raises(SettingError, match=r"takes 256.0 GiB, and NVIDIA H200 has at most 105.3"):
        check_step(spec, H200)


def test_a_chunk_has_one_request():
    """Its context lies before it: 24,575 blocks of 16 tokens, less 512."""
    spec = MeasureSpec((500_000,), "llama-prefill")
    assert largest_size(spec, CPU) == 24_575 * 16 - 512
    with pytest.raises(SettingError, match="500,000 tokens .* sizes up to 392,688"):
        check_step(spec, CPU)


def test_a_context_too_long_for_one_request():
    """Then no smaller size helps, and none is offered."""
    with pytest.raises(SettingError, match=r"context of 1,000,000 tokens .* shorter context"):
        check_step(MeasureSpec((1,), context_tokens=1_000_000), CPU)


def test_a_step_of_the_users_own_has_no_known_cache():
    """Only what holds for every step is checked."""
    check_step(MeasureSpec((5000,), "callable:my:step"), CPU)


@pytest.mark.parametrize(
    ("name", "num_bytes"),
    [
        ("NVIDIA H200", 143_771 * 2**20),
        ("NVIDIA A100-SXM4-80GB", 80 * 2**30),
        ("NVIDIA GH200 144G HBM3e", 144 * 2**30),
        ("NVIDIA GeForce RTX 4090", 24_564 * 2**20),
        ("NVIDIA H100 NVL", None),
        ("Some new card", None),
    ],
)
def test_memory_by_the_name_of_a_device(name, num_bytes):
    """A card with a longer name may have other memory, so nothing is said of it."""
    assert memory_of_device(name) == num_bytes


def test_a_range_of_a_billion_is_refused():
    """It was cut to the first hundred thousand before, without a word."""
    with pytest.raises(CaptureSizesError, match="999,999,999 sizes; a range gives at most 100,000"):
        parse_sizes("1..999999999")
    assert len(parse_sizes("1..100000")) == 100_000


def test_weights_of_an_8b_shape_by_hand():
    """Embedding and head 2 x 128,256 x 4,096; a layer 4,096 x (80 x 128 + 3 x 14,336): 8.03 billion
    parameters, 14.96 GiB in bf16. An H200 holds them, a card of 8 GiB only one of two shards."""
    layer = 4096 * ((2 * 32 + 2 * 8) * 128 + 3 * 14336)
    assert weight_bytes(LLAMA_8B) == 2 * (2 * 128256 * 4096 + 32 * layer) == 16_059_990_016
    spec = MeasureSpec((1,), model=LLAMA_8B)
    check_step(spec, H200)
    small = Device("A small card", 8 * 2**30)
    with pytest.raises(SettingError, match="llama-8b take 15.0 GiB, and A small card has only 8.0"):
        check_step(spec, small)
    check_step(replace(spec, model=replace(LLAMA_8B, tensor_parallel=2)), small)
    check_step(spec, CPU)  # there the weights lie in the host's memory, which nobody knows here
