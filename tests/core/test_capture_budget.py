"""Graph counts, capture time and a fleet's hours, by the right values."""

from __future__ import annotations

import pytest

from core.capture_budget import (
    axis_product,
    captures,
    fleet_cost,
    graph_limit,
    graph_objects,
    scaled_seconds,
    startup_share,
)
from core.errors import SettingError
from core.memory_plan import MemoryPlan
from tests.core.cases import case


def test_most_graphs_by_memory_and_time():
    """floor((600 - 120) / 24) = 20 by memory, floor(6 / 0.35) = 17 by time: time binds."""
    given_, expect = case("D-OPT-03")
    found = graph_limit(
        memory_bytes=given_["memory_MiB"],
        graph_bytes=given_["per_graph_MiB"],
        fixed_bytes=given_["fixed_MiB"],
        seconds=given_["time_s"],
        graph_seconds=given_["per_graph_s"],
    )
    assert (found.by_memory, found.by_time) == (expect["by_memory"], expect["by_time"])
    assert (found.limit, found.binding) == (expect["limit"], expect["binding"])
    assert graph_limit().limit is None
    assert graph_limit(memory_bytes=10, graph_bytes=5, seconds=2, graph_seconds=1).binding == "both"
    assert graph_limit(memory_bytes=1, graph_bytes=5, fixed_bytes=9).by_memory == 0


def test_adapters_double_the_keys_but_not_the_memory():
    """Two variants of 51 sizes are 102 graphs; a shared pool grows by 47.5 % only."""
    given_, expect = case("D-LORA-01")
    assert captures(given_["sizes"], variants=given_["variants"]).graphs == expect["graphs"]
    # the measured growth lies below the straight line that captures() draws
    line = captures(given_["sizes"], variants=2, bytes_each=given_["mem_before_GiB"] / 51)
    assert line.bytes == pytest.approx(2 * given_["mem_before_GiB"])
    assert line.bytes > given_["mem_after_GiB"]


def test_a_graph_for_every_number_of_adapters():
    """20 sizes x 5 adapter counts: 100 graphs, 14 s, 600 MiB, if each costs the same."""
    given_, expect = case("D-LORA-02")
    found = captures(
        given_["sizes"],
        variants=len(given_["adapter_counts"]),
        seconds_each=given_["seconds_per_graph"],
        bytes_each=given_["MiB_per_graph"],
    )
    assert found.graphs == expect["graphs"]
    assert found.seconds == pytest.approx(expect["seconds"])
    assert found.bytes == expect["MiB"]


def test_piecewise_graphs_are_cut_at_every_layer():
    """9 piecewise sizes x 37 pieces + 5 full graphs = 338 objects of 14 keys."""
    given_, expect = case("D-COUNT-01")
    keys, objects = graph_objects(given_["piecewise_sizes"], given_["full_sizes"], given_["layers"])
    assert (keys, objects) == (expect["keys"], expect["objects"])


def test_a_fleet_pays_at_every_start():
    """40 replicas x 6 starts x 17 s = 1.13 GPU hours a day; 15 of 51 sizes take 5 s (estimate)."""
    given_, expect = case("D-BE-04")
    args = (given_["replicas"], given_["scale_ups_per_replica_day"])
    found = fleet_cost(*args, given_["capture_s"], gpu_cost_per_hour=given_["gpu_cost_per_h"])
    assert found.gpu_hours == pytest.approx(expect["gpu_h"], abs=0.01)
    assert found.cost == pytest.approx(expect["cost"], abs=0.01)
    after = scaled_seconds(given_["capture_s"], 51, 15)
    assert after == pytest.approx(expect["after_capture_s"], abs=0.01)
    assert fleet_cost(*args, after).gpu_hours == pytest.approx(expect["after_gpu_h"], abs=0.01)


def test_share_of_start_up():
    """Capture is 55 of 190 s of start-up."""
    given_, expect = case("D-BE-05")
    total, share = startup_share(given_, "capture_s")
    assert total == expect["total_s"]
    assert 100 * share == pytest.approx(expect["capture_pct"], abs=0.1)
    with pytest.raises(SettingError):
        startup_share({}, "capture_s")


def test_two_axes_multiply():
    """6 x 17 buckets and 24 neighbours at 14 s each are half an hour."""
    given_, expect = case("D-BE-06")
    buckets = axis_product(
        given_["batch_buckets"], given_["block_buckets"], extra=given_["neighbours"]
    )
    assert buckets == expect["buckets"]
    seconds = captures(buckets, seconds_each=given_["seconds_each"]).seconds
    assert seconds == expect["seconds"]
    assert seconds / 60 == pytest.approx(expect["minutes"], abs=0.01)


def test_a_prefill_ceiling_is_paid_in_time_and_memory():
    """Only the larger ceiling covers the prompt; it takes 11 s and 0.25 GiB more."""
    from core.padding import padding_report
    from core.records import StepHistogram

    given_, expect = case("D-BE-07")
    small, large = given_["small"], given_["large"]
    prompt = StepHistogram.from_batches([given_["prompt"]])
    covers = [padding_report(prompt, [c["max_tokens"]]).coverage == 1 for c in (small, large)]
    assert covers == [expect["small_covers"], expect["large_covers"]]
    assert large["s"] - small["s"] == pytest.approx(expect["extra_s"], abs=1e-3)
    # what the larger graphs take is missing in the KV cache, to the byte
    kv = [MemoryPlan(8, 1, 0, 0, 0, c["GiB"]).kv_bytes for c in (small, large)]
    assert kv[0] - kv[1] == pytest.approx(expect["extra_GiB"], abs=1e-3)
