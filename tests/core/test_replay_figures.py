"""Figures of replays, their noise, and which differences exceed it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from core.calibration.calibrate import calibrate, eager_table
from core.calibration.recording import load_engine_run, load_engine_runs
from core.calibration.replay_figures import (
    BETTER,
    NONE,
    UNKNOWN,
    WORSE,
    differences,
    figures_of,
    noise_of,
    steps_by_bucket,
    summary_of,
)
from core.calibration.sources import read_evidence
from core.commands.import_ import summary
from core.errors import FileContentError
from core.readers import read
from core.readers.options import ReadOptions
from core.simulate import Machine
from tests.conftest import DATA

COLUMNS = ["start_s", "duration_s", "running_before", "waiting_before", "running_after",
           "rows", "tokens", "padded", "mode", "card_s"]  # fmt: skip


def run_of(name: str, load: float = 1.0, slower: float = 1.0) -> dict[str, Any]:
    """Two requests: first tokens after 0.1 and 0.2 s, then 0.05 s a token for 4 and for 2."""
    t = 0.05 * slower
    return {
        "name": f"{name}, load {load:g}",
        "list": name,
        "load": load,
        "mode": "eager" if name == "eager" else "default",
        "config": "[]" if name == "eager" else "[4, 8]",
        "kv_blocks": 100,
        "block": 16,
        "decode_step_us": {"1": 5000.0 * slower, "2": 6000.0 * slower, "4": None},
        "requests": [["1", 0.0, 7, 5, 0.1, 0.1 + 4 * t, 5], ["2", 0.5, 9, 3, 0.7, 0.7 + 2 * t, 3]],
        "step_columns": COLUMNS,
        "steps": [
            [0.0, 0.1, 0, 1, 1, 1, 7, 7, "NONE", None],
            [0.1, t, 1, 0, 1, 1, 1, 4, "FULL", 0.01],
            [0.2, t, 1, 0, 1, 1, 1, 4, "FULL", 0.01],
            [0.3, t, 1, 0, 1, 1, 1, None, None, None],
        ],
        "itl_s": {"p50": t, "p90": t, "p99": 2 * t, "mean": t, "count": 6},
    }


def test_figures_by_hand():
    """TTFT 100 and 200 ms; TPOT 50 ms for both; 8 tokens in 0.8 s."""
    found = figures_of(run_of("a"))
    assert found["ttft_p50_ms"] == pytest.approx(150) and found["tpot_p50_ms"] == pytest.approx(50)
    assert (found["itl_p50_ms"], found["itl_p99_ms"]) == pytest.approx((50, 100))
    assert found["makespan_s"] == pytest.approx(0.8) and found["output_tps"] == pytest.approx(10)


def test_steps_by_bucket_are_the_engines_own():
    """As it told them; a step of which it told nothing is not guessed."""
    assert steps_by_bucket(run_of("a")) == {"NONE": {"7": 1}, "FULL": {"4": 2}}
    assert steps_by_bucket({"steps": [[0, 1, 2, 0, 2]]}) == {}


def test_noise_by_hand():
    """The widest spread of any list: 10 and 11 differ by 1 of 10.5; one run has none."""
    lists = [[{"tpot_p50_ms": 10.0}, {"tpot_p50_ms": 11.0}], [{"tpot_p50_ms": 20.0}]]
    assert noise_of(lists) == {"tpot_p50_ms": pytest.approx(1 / 10.5)}
    assert noise_of(lists[1:]) == {}


def test_a_difference_below_the_noise_is_none():
    """Above it the direction decides; more tokens a second are better, more milliseconds worse."""
    first = {"tpot_p50_ms": 10.0, "output_tps": 100.0, "ttft_p50_ms": 5.0}
    other = {"tpot_p50_ms": 10.2, "output_tps": 110.0, "ttft_p50_ms": 6.0}
    noise = {"tpot_p50_ms": 0.03, "output_tps": 0.05}
    found = differences(first, other, noise)
    assert found["tpot_p50_ms"] == {"change": pytest.approx(0.02), "verdict": NONE}
    assert found["output_tps"]["verdict"] == BETTER and found["ttft_p50_ms"]["verdict"] == UNKNOWN
    assert differences(first, {"tpot_p50_ms": 11.0}, noise)["tpot_p50_ms"]["verdict"] == WORSE
    assert differences(first, {"tpot_p50_ms": 9.0}, noise)["tpot_p50_ms"]["verdict"] == BETTER


def test_the_summary_of_two_lists():
    """A part a load; the mean of repeats; the others beside the first list."""
    runs = [run_of("a"), run_of("a", slower=1.02), run_of("b", slower=1.5), run_of("a", load=2)]
    one, two = summary_of(runs)
    assert (one["load"], two["load"], one["beside"]) == (1.0, 2.0, "a")
    assert one["lists"]["a"]["figures"]["tpot_p50_ms"] == pytest.approx(50.5)
    assert one["lists"]["a"]["runs"] == 2 and one["noise"]["tpot_p50_ms"] == pytest.approx(1 / 50.5)
    assert one["differences"]["b"]["tpot_p50_ms"]["verdict"] == WORSE
    assert one["differences"]["b"]["ttft_p50_ms"] == {"change": 0.0, "verdict": NONE}
    assert two["differences"] == {} and two["noise"] == {}


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """A replay's file, of recorded runs of a real engine: its default list, and eager."""
    runs = []
    for name in ("default", "eager"):
        path = DATA / "engine_runs" / f"vllm-0.23-h200-{name}.json.gz"
        run = json.loads(gzip.decompress(path.read_bytes()))
        runs.append({**run, "name": f"{name}, load 4", "list": name, "load": 4.0})
    out = tmp_path / "replay.json.gz"
    out.write_bytes(gzip.compress(json.dumps({"format": 1, "runs": runs}).encode()))
    return out


def test_every_run_of_a_file(several: Path):
    """Under its own name, and the same as the file of that run alone."""
    runs = load_engine_runs(several)
    assert [run.name for run in runs] == ["default, load 4", "eager, load 4"]
    for run, name in zip(runs, ("default", "eager"), strict=True):
        alone = load_engine_run(DATA / "engine_runs" / f"vllm-0.23-h200-{name}.json.gz")
        assert (run.step_start_s == alone.step_start_s).all()
        assert run.capture_sizes == alone.capture_sizes
        assert load_engine_run(several, f"{name}, load 4").makespan_s == alone.makespan_s
    assert load_engine_run(several).name == "default, load 4"
    with pytest.raises(FileContentError, match="no run 'x'; there are: default, load 4; eager"):
        load_engine_run(several, "x")


def test_import_reads_the_run_that_is_asked_for(several: Path):
    """The first with a note that names the others, or the one by name."""
    first = read(several)
    assert first.format == "engine-run" and first.captured is not None and first.rows == 1138
    assert any("Of 2 recorded runs the first is read" in text for text in first.warnings)
    assert first.facts["runs"] == ["default, load 4", "eager, load 4"]
    eager = read(several, options=ReadOptions(part="eager, load 4"))
    assert eager.captured is None and eager.facts["mode"] == "eager"
    with pytest.raises(FileContentError, match="there is no run 'nothing'"):
        read(several, options=ReadOptions(part="nothing"))
    assert summary(first)["kept"] == 1138


def test_calibrate_takes_eager_steps_from_the_run_beside(several: Path):
    """The eager run of the same file is the table of eager steps of the one with graphs."""
    evidence = read_evidence(several)
    alone = load_engine_run(DATA / "engine_runs" / "vllm-0.23-h200-eager.json.gz")
    assert evidence.eager_us == dict(alone.decode_step_us)
    assert evidence.notes and "the first is read" in evidence.notes[0]
    found = calibrate(evidence, limits=Machine(1 << 20, max_num_batched_tokens=2048))
    assert found.comparison is not None
    eager = read_evidence(several, part="eager, load 4")
    assert eager.capture_sizes == () and eager_table(eager) == dict(alone.decode_step_us)
