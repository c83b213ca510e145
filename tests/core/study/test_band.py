"""Near saturation a per cent of step time is many per cent of TTFT, and `simulate` says so."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.__main__ import main
from core.simulate import simulate, simulate_times
from core.study.band import band, scaled
from tests.core.study.helpers import cost, poisson, small_study


def run_at(rate_rps: float):
    study = small_study(poisson(400, rate_rps), cost(np.full(64, 10_000.0)), today=(64,))
    trace = study.scenarios[1].trace
    assert trace is not None
    result = simulate(trace, study.machine, study.cost, (64,), prefill=study.prefill)
    return trace, study.machine, result


def test_scaled_steps_stretch_a_busy_run():
    """A closed engine that never idles takes 1.5 times as long with steps 1.5 times as long."""
    trace, machine, result = run_at(1e6)
    longer = simulate_times(trace, machine, scaled(result.times, 1.5))
    assert longer.makespan_s / result.makespan_s == pytest.approx(1.5, rel=1e-3)


def test_an_idle_engine_is_sure_and_a_full_one_is_not():
    """At 5 requests/s TTFT moves with the steps; near what 64 slots serve it moves far more."""
    for rate, near in ((5.0, False), (190.0, True)):
        trace, machine, result = run_at(rate)
        found = band(trace, machine, result.times, result)
        assert found is not None and found.near_saturation is near
        assert found.ttft_p50_ms[0] <= result.latency().ttft_ms.p50 <= found.ttft_p50_ms[1]


def test_the_command_shows_the_band(tmp_path, capsys):
    """Three requests, far apart: a band, and no warning."""
    file = tmp_path / "trace.csv"
    file.write_text("arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,10,5\n2,10,5\n")
    assert main(["simulate", str(file), "--sizes", "1,2,4", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    low, high = answer["band"]["tpot_p50_ms"]
    assert low < answer["tpot_ms"]["p50"] < high and not answer["band"]["near_saturation"]
    assert not any("saturation" in note for note in answer["notes"])
