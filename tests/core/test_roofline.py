"""Roofline estimates by hand, and against a measured engine."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.cards import CARDS, card_named
from core.errors import SettingError
from core.records import Origin
from core.roofline import Efficiency, roofline_step_cost, step_bound, touched_experts
from core.step_cost import eager_us_at, replay_us_at
from tests.conftest import DATA

CONFIGS = json.loads((DATA / "model_configs" / "configs.json").read_text("utf-8"))
LLAMA = CONFIGS["llama-3.1-8b"]["config"]
PERFECT = Efficiency(1.0, 1.0, 10, 1.0, 0.0, 0.0, 0.0, 0.0)


def test_reading_and_computing_by_hand():
    """Weights once and KV a row over the bandwidth; 2 FLOP a weight and row over the rate."""
    card = CARDS["H100 SXM"]
    bound = step_bound(LLAMA, card, np.array([1.0, 4.0]), context_tokens=100, efficiency=PERFECT)
    weights = 8_029_995_008  # two vocabulary matrices and 32 layers
    read = [(weights * 2 + rows * 100 * 131_072) / 3.35e12 * 1e6 for rows in (1, 4)]
    assert bound.read_us == pytest.approx(read)
    assert bound.compute_us == pytest.approx([2 * weights * rows / 989e12 * 1e6 for rows in (1, 4)])


def test_where_computing_overtakes_reading():
    """Without a KV cache to read the turn lies at peak rate / bandwidth: 989e12 / 3.35e12 = 295."""
    sizes = np.arange(1.0, 513.0)
    bound = step_bound(LLAMA, CARDS["H100 SXM"], sizes, context_tokens=0, efficiency=PERFECT)
    assert bound.compute_bound_from == 296
    assert step_bound(LLAMA, CARDS["H100 SXM"], sizes[:100]).compute_bound_from is None


def test_eager_waits_for_the_host():
    """32 layers x 10 kernels x 1 us = 320 us against less device time: the host sets the pace."""
    cost = roofline_step_cost(
        CONFIGS["llama-3.2-1b"]["config"], CARDS["H200"], efficiency=Efficiency(1, 1, 10, 100.0)
    )
    # 16 layers x 10 kernels x 100 us + 1.7 ms + 30 us of the engine
    assert eager_us_at(cost, [1])[0] == 16_000 + 1_730
    assert replay_us_at(cost, [1])[0] < 3_000
    assert cost.origin is Origin.ESTIMATED and "H200" in cost.source


def test_defaults_meet_the_run_they_follow():
    """8B in bf16 on an H200 took 5.9 ms replayed and 12.9 ms eager at batch 1: within 10 %."""
    cost = roofline_step_cost(LLAMA, card_named("h200"), context_tokens=300)
    assert replay_us_at(cost, [1])[0] == pytest.approx(5_900, rel=0.1)
    assert eager_us_at(cost, [1])[0] == pytest.approx(12_900, rel=0.1)
    # and 7.2 ms and 8.5 ms replayed at 32 and 64 requests: within 15 %
    assert replay_us_at(cost, [32, 64]) == pytest.approx([7_158, 8_467], rel=0.15)


def test_experts_touched_grow_with_the_batch():
    """One row touches k of E experts, many rows all of them; two rows 8 of 128: 15.5."""
    found = touched_experts(128, 8, np.array([1.0, 2.0, 1e4]))
    assert found == pytest.approx([8, 128 * (1 - (120 / 128) ** 2), 128])


def test_a_mixture_reads_few_weights_at_batch_1():
    """30B of weights, 3B active: batch 1 reads about a tenth of what batch 512 reads."""
    sizes = np.array([1.0, 512.0])
    config = CONFIGS["qwen3-30b-a3b"]["config"]
    bound = step_bound(config, CARDS["H200"], sizes, context_tokens=0, efficiency=PERFECT)
    active = bound.read_us[0] * 1e-6 * 4.8e12 / 2
    assert active == pytest.approx(3.3e9, rel=0.05)
    whole = bound.read_us[1] * 1e-6 * 4.8e12 / 2
    assert whole == pytest.approx(30.5e9, rel=0.01)


def test_tensor_parallel_divides_and_exchanges():
    """Two cards halve reading, and pay two exchanges a layer."""
    one = roofline_step_cost(LLAMA, CARDS["H200"], context_tokens=0)
    two = roofline_step_cost(LLAMA, CARDS["H200"], context_tokens=0, tp=2)
    engine = 1_700 + 30
    halved = (replay_us_at(one, [1])[0] - engine) / 2 + 2 * 32 * 10
    assert replay_us_at(two, [1])[0] - engine == pytest.approx(halved)


def test_unknown_cards_and_shares_are_refused():
    """The known cards are listed; a share of the peak is at most 1."""
    with pytest.raises(SettingError, match="H100 SXM"):
        card_named("Z9000")
    with pytest.raises(SettingError, match="bandwidth is 1.2"):
        Efficiency(bandwidth=1.2)
    with pytest.raises(SettingError):
        roofline_step_cost(LLAMA, CARDS["H200"], max_size=0)
