"""Bound by the host or the device, noise or gain: by the right values."""

from __future__ import annotations

import pytest

from core.errors import SettingError
from core.speed import LaunchBound, compare_runs, flatness, piecewise_overhead, submit_ms
from tests.core.cases import case


def test_a_launch_bound_step():
    """Eager waits for the host, a graph for the device."""
    given_, expect = case("D-SPEED-01")
    step = LaunchBound(given_["cpu_ms"], given_["gpu_ms"], given_["graph_launch_ms"])
    assert (step.eager_ms, step.graph_ms, step.bound) == (
        expect["eager_ms"],
        expect["graph_ms"],
        expect["bound"],
    )
    assert step.speedup == pytest.approx(expect["speedup"], abs=0.01)
    assert LaunchBound(1, 2).bound == "gpu"
    assert LaunchBound(1, 2).speedup == 1


def test_flat_latency_shows_a_host_bound():
    """8 % more latency for 32 times the batch: graphs help, and padding is almost free."""
    given_, expect = case("D-SPEED-02")
    found = flatness({int(batch): ms for batch, ms in given_["ms"].items()})
    assert found.latency_ratio == pytest.approx(expect["latency_x"], abs=0.01)
    assert found.throughput_ratio == pytest.approx(expect["throughput_x"], abs=0.01)
    assert found.host_bound and expect["verdict"].startswith("CPU bound")
    assert not flatness({1: 5.0, 32: 20.0}).host_bound
    assert not flatness({1: 5.0, 2: 5.0}).host_bound  # twice the batch shows little


def test_pieces_cost_a_launch_each():
    """80 pieces of 12 us are 0.96 ms of a 20 ms step."""
    given_, expect = case("D-SPEED-03")
    found = piecewise_overhead(given_["layers"], given_["us_per_piece"], 20.0)
    assert found.extra_ms == pytest.approx(expect["extra_ms"])
    assert 100 * found.share == pytest.approx(expect["share_pct"])


def test_range_of_possible_gain():
    """588 kernels at 20 to 50 us of host time each against 9 ms of device time."""
    given_, expect = case("D-SPEED-04")
    host = [submit_ms(given_["kernels"], us) for us in given_["launch_us"]]
    assert host == pytest.approx(expect["cpu_ms"], abs=0.01)
    gains = [LaunchBound(ms, given_["gpu_ms"]).speedup for ms in host]
    assert gains == pytest.approx(expect["speedup"], abs=0.01)


def test_noise_or_gain():
    """A difference smaller than the spread of either is noise."""
    given_, expect = case("D-SPEED-05")
    found = compare_runs(given_["baseline"], given_["candidate"])
    assert found.base_mean == pytest.approx(expect["base_mean"], abs=0.01)
    assert found.candidate_mean == pytest.approx(expect["cand_mean"], abs=0.01)
    assert 100 * found.share == pytest.approx(expect["diff_pct"], abs=0.01)
    assert not found.beyond_noise and expect["verdict"] == "within noise"
    assert compare_runs([10, 11], [20, 21]).beyond_noise


def test_one_run_tells_nothing():
    """No spread, no verdict."""
    with pytest.raises(SettingError):
        compare_runs([1], [2, 3])
    with pytest.raises(SettingError):
        flatness({1: 2.0})
    with pytest.raises(SettingError):
        LaunchBound(1, 0)
