"""The shipped profiles: complete, believable, and what the documents say of them."""

from __future__ import annotations

import pytest

from core.profiles import comparison_profiles, shipped_profiles
from core.records import CaptureMode, PoolPolicy, Profile, SizeUnit

EVERY = {**shipped_profiles(), **comparison_profiles()}


@pytest.mark.parametrize("name", EVERY)
def test_every_row_is_whole(name: str) -> None:
    """Measured on a card, equal to eager, no failed row, quartiles around the median, and no host
    name of ours."""
    profile = EVERY[name]
    assert profile.device.graphs and profile.device.host is None
    assert [row.size for row in profile.rows] == list(profile.spec.sizes)
    for row in profile.rows:
        assert row.error is None and row.equal and row.samples == profile.spec.samples
        assert row.eager_us and row.replay_us and row.replay_q1_us and row.replay_q3_us
        assert row.replay_q1_us <= row.replay_us <= row.replay_q3_us
        assert row.capture_ms and row.instantiate_ms and row.capture_ms > row.instantiate_ms
        assert row.nodes and row.pool_bytes and row.copy_us


def test_decode_curves_are_apart_from_comparisons() -> None:
    """What is offered as a step cost counts requests."""
    assert {"h200-llama-8b", "h200-llama-8b-2k", "h200-qwen-0.5b"} <= set(shipped_profiles())
    assert all(p.spec.unit is SizeUnit.REQUESTS for p in shipped_profiles().values())
    assert EVERY["h200-llama-8b-piecewise"].spec.capture is CaptureMode.PIECEWISE
    assert EVERY["h200-llama-8b-prefill"].spec.unit is SizeUnit.TOKENS


def weight_bytes(profile: Profile) -> int:
    """What a dense step reads of its weights, by the model's shape, 2 bytes each [bytes]."""
    shape = profile.spec.model
    heads = (shape.num_heads + 2 * shape.num_kv_heads) * shape.head_dim
    layer = shape.hidden_size * (heads + shape.num_heads * shape.head_dim + 3 * shape.ffn_size)
    return 2 * (shape.num_layers * layer + shape.vocab_size * shape.hidden_size)


def test_one_request_runs_near_the_cards_own_bandwidth() -> None:
    """8B at batch 1: at most 1.3 times the weights over the copy bandwidth of the same card."""
    profile = EVERY["h200-llama-8b"]
    assert profile.device.copy_gbps is not None and profile.rows[0].replay_us is not None
    floor_us = weight_bytes(profile) / profile.device.copy_gbps / 1e3
    assert 1.0 < profile.rows[0].replay_us / floor_us < 1.3


def test_pools_by_policy() -> None:
    """The same 17 graphs: largest first takes least, private pools most."""
    growth = {
        profile.spec.pool_policy: sum(row.pool_growth_bytes or 0 for row in profile.rows) / 2**20
        for name, profile in comparison_profiles().items()
        if "-pool-" in name
    }
    assert growth == {
        PoolPolicy.SHARED_LARGEST_FIRST: 126,
        PoolPolicy.SHARED_SMALLEST_FIRST: 320,
        PoolPolicy.PRIVATE: 718,
    }


def test_a_larger_batch_is_never_much_faster() -> None:
    """Replay time rises with size, but where the library takes another kernel (12 % at most)."""
    for name in ("h200-llama-8b", "h200-qwen-0.5b"):
        times = [row.replay_us or 0 for row in EVERY[name].rows]
        assert all(later > 0.85 * earlier for earlier, later in zip(times, times[1:], strict=False))
