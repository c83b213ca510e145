"""vLLM on Gaudi: three strategies, the product of dimensions, and what happens without a bucket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines._gaudi_buckets import find
from core.engines._gaudi_ladders import exponential, linear, padding_aware, run_time_bucket
from core.engines.plan import Mode, StepKind
from core.errors import SettingError
from tests.core.engines.notation import expand

GAUDI = ENGINES["gaudi"]


@pytest.mark.parametrize(
    ("given_", "sizes"),
    [
        ((2, 32, 64), "2,4,8,16,32,64"),
        ((1, 32, 256), "1,2,4,8,16,32..256/32"),
        ((128, 128, 1024), "128..1024/128"),
        ((0, 4, 12), "0,4,8,12"),
    ],
)
def test_linear(given_: tuple[int, int, int], sizes: str) -> None:
    """Doubling up to the step, then multiples of it."""
    assert linear(*given_) == expand(sizes)


@pytest.mark.parametrize(
    ("given_", "sizes"),
    [
        ((0, 8, 64, 64, 0), "0,1,2,4,8,16..64/8"),
        ((0, 8, 64, 64, 50), "0,1,2,4,8,16,32,64"),
        ((0, 8, 64, 16, 50), "0,1,2,4,8,16,32,48,64"),
        ((16, 16, 128, 32, 25), "16..96/16,128"),
    ],
)
def test_padding_aware(given_: tuple[int, int, int, int, int], sizes: str) -> None:
    """A step stays when the next one would pad too much."""
    assert padding_aware(*given_) == expand(sizes)


@pytest.mark.parametrize(
    ("largest", "sizes"),
    [
        (32, "1,2,4,8,12,20,32"),
        (64, "1,2,4,8,12,22,36,64"),
        (128, "1,2,4,8,12,22,40,72,128"),
        (256, "1,2,4,8,14,24,42,78,140,256"),
    ],
)
def test_exponential_batches(largest: int, sizes: str) -> None:
    """Decode batches up to max_num_seqs, the default strategy."""
    assert GAUDI.default_sizes(None, {"max_num_seqs": largest}).sizes == expand(sizes)


@pytest.mark.parametrize(
    ("tokens", "sizes"),
    [
        (2048, "128,256,384,512,768,896,1280,1664,2048"),
        (8192, "128,256,384,512,768,1024,1536,2048,2944,4224,5888,8192"),
    ],
)
def test_exponential_queries(tokens: int, sizes: str) -> None:
    """Prompt lengths up to max_num_batched_tokens, in blocks of 128."""
    settings = {"max_num_batched_tokens": tokens, "max_model_len": 8192}
    answer = GAUDI.default_sizes(None, settings, StepKind.PREFILL)
    assert answer.sizes == expand(sizes)


def test_exponential_with_a_count() -> None:
    """Ten sizes between 128 and 2048; without contiguous attention the last is rounded and
    replaced when above the maximum."""
    assert exponential(128, 128, 2048, 10) == expand("128..640/128,896,1152,1536,2048")
    assert exponential(1, 2, 31, 6, exact_last=False)[-1] == 31


def test_strategies_and_variables() -> None:
    """lin and pad follow the user's variables, exp ignores them and says so."""
    own = {"max_num_seqs": 64, "decode_bs_min": 2, "decode_bs_step": 32, "decode_bs_max": 64}
    assert GAUDI.default_sizes(None, {**own, "strategy": "lin"}).sizes == (2, 4, 8, 16, 32, 64)
    padded = {**own, "strategy": "pad", "decode_bs_pad_percent": 0, "decode_bs_step": 16}
    assert GAUDI.default_sizes(None, padded).sizes == (2, 4, 8, 16, 32, 48, 64)
    plan = GAUDI.plan(None, own)
    assert plan.sizes == expand("1,2,4,8,12,22,36,64")
    assert plan.findings[0].id == "ignored-under-exp"
    assert "VLLM_DECODE_BS_BUCKET_STEP" in plan.findings[0].text
    with pytest.raises(SettingError, match="decode_bs_min is 99"):
        GAUDI.plan(None, {"strategy": "lin", "decode_bs_min": 99, "decode_bs_max": 64})


def test_prompt_filters() -> None:
    """A prompt bucket fits the model length and the tokens of a step."""
    settings = {
        **{"strategy": "lin", "max_num_prefill_seqs": 4, "block_size": 128},
        **{"max_num_batched_tokens": 512, "max_model_len": 384},
    }
    buckets = GAUDI.buckets(StepKind.PREFILL, None, settings)
    # queries 128, 256, 384 (512 is above the model's length), contexts 0, 1, 2
    assert {q for _, q, _ in buckets} == {128, 256, 384}
    assert {c for *_, c in buckets} == {0, 1, 2}
    assert all(bs * q <= 512 for bs, q, _ in buckets)
    # per context: 4 batches of 128, 2 of 256, 1 of 384
    assert len(buckets) == 3 * (4 + 2 + 1)


def test_decode_filters() -> None:
    """Without contiguous attention a batch needs as many blocks, and no more than it can own."""
    settings = {
        **{"strategy": "lin", "contiguous_pa": False, "max_num_seqs": 4, "block_size": 128},
        **{"max_model_len": 256, "decode_bs_step": 2, "decode_block_step": 4},
    }
    buckets = GAUDI.buckets(StepKind.DECODE, None, settings)
    assert all(bs <= ctx <= bs * 2 for bs, _, ctx in buckets)
    assert (4, 1, 8) in buckets


def test_speculation_adds_drafted_rows() -> None:
    """Every decode bucket comes again with its rows times 1 + k."""
    base = {"strategy": "lin", "max_num_seqs": 2, "decode_bs_step": 2, "max_model_len": 256}
    base |= {"decode_block_max": 8, "decode_block_step": 4}
    plain = GAUDI.buckets(StepKind.DECODE, None, base)
    drafted = GAUDI.buckets(StepKind.DECODE, None, {**base, "num_speculative_tokens": 2})
    for bs, _, ctx in plain:
        assert (bs * 3, 1, ctx * 3) in drafted
        assert ((bs * 3, 1, ctx) in drafted) or bs * 3 > ctx
    assert set(plain) < set(drafted)


def test_filters_that_leave_nothing() -> None:
    """No bucket left: the engine does not start."""
    with pytest.raises(SettingError, match="no prompt bucket"):
        GAUDI.plan(None, {"max_num_batched_tokens": 64, "strategy": "lin", "prompt_query_max": 128})


def test_look_up_and_run_time_bucket() -> None:
    """The first bucket that holds all three; none: dimensions are rounded up and compiled."""
    buckets = ((1, 1, 128), (2, 1, 128), (4, 1, 64), (4, 1, 256))
    assert find(buckets, (2, 1, 100)) == ((2, 1, 128), Mode.FULL)
    assert find(buckets, (3, 1, 100)) == ((4, 1, 256), Mode.FULL)
    # cube roots: 9 -> 3, 3 x 2 = 6 -> 12; 300 -> 7, 7 x 32 = 224 -> 448
    assert find(buckets, (9, 1, 300)) == ((12, 1, 448), Mode.RECOMPILE)


@given(st.integers(1, 10**6))
def test_run_time_bucket_holds(size: int) -> None:
    """The bucket made at run time is never below the size and a multiple of its step."""
    root = next(r for r in range(1, 102) if r**3 >= size)
    bucket = run_time_bucket(size, 2)
    assert size <= bucket < size + 2 * root
    assert bucket % (2 * root) == 0


def test_contiguous_blocks_hold_every_block() -> None:
    """50 blocks: linear 1, 2, 4..32 and 50 itself; padding-aware starts at 1 and ends at 50."""
    settings = {"num_hpu_blocks": 50, "max_num_seqs": 4, "contiguous_pa": True}

    def blocks(**more: object) -> set[int]:
        return {b for *_, b in GAUDI.buckets(StepKind.DECODE, None, settings | more)}

    assert blocks(strategy="lin") == {1, 2, 4, 8, 16, 32, 50}
    padded = blocks(strategy="pad")
    assert (min(padded), max(padded)) == (1, 50)
    assert max(blocks(strategy="lin", decode_block_max=300)) == 50
    assert max(blocks(strategy="lin", contiguous_pa=False)) == 32  # 64 would be above 50
