"""What engines hold back for graphs, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.engines import ENGINES
from core.engines.memory import GIB, MIB, GraphCost, graph_cost, kv_cache_bytes
from core.errors import SettingError
from core.records import GraphMemory, Origin

VLLM, SGLANG = ENGINES["vllm"], ENGINES["sglang"]
COSTS = {
    "piecewise": GraphCost(100 * MIB, 10 * MIB, 300 * MIB),
    "full": GraphCost(120 * MIB, 0.5 * MIB),
}
SETTINGS = {"max_num_seqs": 256}


def test_vllm_first_runner() -> None:
    """max(100, 120) + 10 x (51 - 1) + 1 x (35 - 1): a further graph costs 1 MiB at least."""
    account = VLLM.memory("0.23.0", {**SETTINGS, "runner": "v1"}, None, COSTS)
    assert account.reserved_bytes == (120 + 500 + 34) * MIB
    assert sum(b for _, b in account.parts) == account.reserved_bytes
    assert account.origin is Origin.ESTIMATED


def test_vllm_second_runner() -> None:
    """Piecewise graphs as measured, 300; full ones extrapolated, 120 + 34 x 1."""
    account = VLLM.memory("0.33.0", {**SETTINGS, "runner": "v2"}, None, COSTS)
    assert account.reserved_bytes == (300 + 120 + 34 * 1) * MIB


def test_vllm_releases() -> None:
    """Nothing is held back before 0.21; afterwards it depends on measurements."""
    assert VLLM.memory("0.17.1").reserved_bytes == 0
    assert "off by default" in VLLM.memory("0.19.1").rule
    assert VLLM.memory("0.23.0", {"runner": "v2"}).reserved_bytes == 0
    assert VLLM.memory("0.33.0").reserved_bytes is None
    assert VLLM.memory("0.33.0", {"enforce_eager": True}).reserved_bytes == 0


def test_fewer_sizes_shrink_vllms_estimate() -> None:
    """The estimate counts graphs: 9 sizes hold back less than 51."""
    few = VLLM.memory("0.23.0", {**SETTINGS, "runner": "v1"}, [1, 2, 4, 8, 256], COSTS)
    assert few.reserved_bytes == (120 + 10 * 4 + 4) * MIB


def test_sglang_static_sum() -> None:
    """48 GiB card, tp 1: 512 + 1.5 x 4096 + 128 + 2 x 32 + 8 x prefill sizes, in MiB."""
    settings = {"gpu_memory_gib": 48, "post_capture_kv_sizing": "off"}
    account = SGLANG.memory("0.5.23", settings)
    prefill = len(SGLANG.plan("0.5.23", settings).prefill[0].sizes)
    assert prefill == 50  # 8 + 14 + 8 + 8 + 12, to 4096
    graphs = 2 * 32 + 8 * prefill
    assert account.reserved_bytes == graphs * MIB
    total = 512 + 1.5 * 4096 + 128 + graphs
    assert sum(b for _, b in account.parts) == total * MIB
    assert account.kv_fraction == round((48 * 1024 - total) / (48 * 1024), 3)


def test_sglang_counts_the_largest_batch_only() -> None:
    """Removing small decode sizes frees nothing; lowering the largest does."""
    settings = {
        "gpu_memory_gib": 48,
        "post_capture_kv_sizing": "off",
        "prefill_backend": "disabled",
    }

    def held(sizes: list[int]) -> float | None:
        return SGLANG.memory("0.5.23", settings, sizes).reserved_bytes

    assert held([1, 2, 4, 8, 16, 32]) == held([32]) == 64 * MIB
    assert held([16]) == 32 * MIB


def test_sglang_data_parallel_attention_and_floor() -> None:
    """3 MiB more for each request and rank, half more again above 300; 10 GiB on large cards."""
    settings = {
        **{"gpu_memory_gib": 80, "post_capture_kv_sizing": "off", "prefill_backend": "disabled"},
        **{"enable_dp_attention": True, "tp_size": 8, "dp_size": 8, "chunked_prefill_size": 2048},
    }
    small = SGLANG.memory("0.5.23", settings, [64])
    assert small.reserved_bytes == (2 * 64 + 3 * 64 * 8) * MIB
    large = SGLANG.memory("0.5.23", settings, [400])
    assert large.reserved_bytes == (2 * 400 + 3 * 400 * 8 * 1.5) * MIB
    assert "10 GiB in any case" in small.rule
    assert sum(b for _, b in small.parts) == 10 * GIB
    deepep = SGLANG.memory("0.5.23", {**settings, "deepep": True}, [64])
    assert sum(b for _, b in deepep.parts) == 12 * GIB


def test_sglang_captures_first_in_newer_builds() -> None:
    """Post-capture sizing holds 1536 MiB and 1 GiB for 8 workers, nothing for graphs."""
    account = SGLANG.memory("0.5.23", {"gpu_memory_gib": 80})
    assert account.reserved_bytes == 0
    assert sum(b for _, b in account.parts) == (1536 + 128) * MIB
    assert SGLANG.memory("0.5.23", {"mla": True}).reserved_bytes
    assert SGLANG.memory("0.5.23", {"gpu_memory_gib": 0}).kv_fraction is None


def test_other_engines_say_when_graphs_are_captured() -> None:
    """Each has a rule with a source; Gaudi keeps a tenth of usable memory."""
    for name in ("trtllm", "lmdeploy", "tgi", "mini-sglang", "nano-vllm"):
        account = ENGINES[name].memory()
        assert account.reserved_bytes == 0
        assert account.rule and account.when and account.source
    assert ENGINES["gaudi"].memory().kv_fraction == pytest.approx(0.9)


def test_cost_from_measured_points() -> None:
    """Largest first into one pool: the first graph holds the pool, later ones what each adds."""
    memory = GraphMemory(
        sizes=np.array([1, 8, 64]),
        pool_bytes=np.array([1.0, 8.0, 64.0]),
        graph_bytes=np.array([2.0, 2.0, 3.0]),
        origin=Origin.MEASURED,
        source="test",
    )
    cost = graph_cost(memory, [1, 8, 64])
    assert (cost.first_bytes, cost.second_bytes) == (67.0, 2.0)
    assert cost.all_bytes == 64 + 3 + 2 + 2
    assert graph_cost(memory, [8]).second_bytes == 2.0
    with pytest.raises(SettingError):
        graph_cost(memory, [])


def test_kv_sum() -> None:
    """100 x 0.9 - 60 - 5 = 25; never below 0."""
    assert kv_cache_bytes(100, 0.9, 60, 5) == pytest.approx(25)
    assert kv_cache_bytes(100, 0.5, 60) == 0
    with pytest.raises(SettingError):
        kv_cache_bytes(100, 1.5, 0)


def test_what_the_first_capture_takes_once_is_in_the_first_graph():
    """100 once, 2 a row of pool, 3 a graph: the first of (1, 8) takes 100 + 16 + 3."""
    memory = GraphMemory(
        np.array([1, 8]),
        np.array([2.0, 16.0]),
        np.array([3.0, 3.0]),
        Origin.ASSUMED,
        "by hand",
        100.0,
    )
    cost = graph_cost(memory, (1, 8))
    assert (cost.first_bytes, cost.second_bytes, cost.all_bytes) == (119, 3, 122)
