"""Rows, graphs and settings of a measured engine, by hand: no process is started."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import SettingError
from core.records import MeasureRow, spec_from_json
from gpu_worker.driven.contract import Capture
from gpu_worker.driven.facts import groups_of
from gpu_worker.driven.session import row_of
from gpu_worker.driven.steps import StepTimes
from gpu_worker.measure import main

# The stand-in's steps [us]: with a graph, without one in an eager engine, without one in an engine
# that has graphs; and each token more.
GRAPH, EAGER, BEYOND, TOKEN = 1000.0, 3000.0, 4000.0, 2.0

ALONE = {"enforce_eager": True}


def test_a_row_by_hand() -> None:
    """Medians and quartiles, the card's part, and this size's graphs of both kinds."""
    eager = StepTimes([30.0, 10.0, 20.0], [5.0], None, None)
    listed = StepTimes([4.0, 2.0, 3.0, 1.0], [1.0, 2.0], "FULL", 8)
    captures = [Capture("PIECEWISE", 8, 0.25, 3 << 20), Capture("FULL", 8, 0.5, 1 << 20),
                Capture("FULL", 4, 9.0, 9)]  # fmt: skip
    row = row_of(8, eager, listed, captures)
    assert (row.eager_us, row.eager_card_us, row.samples) == (20.0, 5.0, 4)
    assert (row.replay_q1_us, row.replay_us, row.replay_q3_us) == (1.75, 2.5, 3.25)
    assert (row.replay_card_us, row.capture_ms, row.graph_bytes) == (1.5, 750.0, 4 << 20)
    assert row_of(8, eager, "no", ()) == MeasureRow(8, error="no")
    assert row_of(8, "no", None, ()) == MeasureRow(8, error="no")
    assert row_of(8, "no", replace(listed), ()).replay_us == 2.5


def test_graphs_by_kind_by_hand() -> None:
    """Seconds and GiB of a kind add up; the first one's share stands apart."""
    gib = 1 << 30
    full, pieces = groups_of(
        [
            Capture("FULL", 8, 1.0, 2 * gib),
            Capture("FULL", 4, 0.5, gib),
            Capture("PIECEWISE", 8, 2.0, None),
        ]
    )
    assert (full.kind, full.sizes, full.seconds, full.gib, full.first_gib) == ("FULL", 2, 1.5, 3, 2)
    assert (pieces.kind, pieces.sizes, pieces.gib, pieces.first_gib) == ("PIECEWISE", 1, None, None)


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ({"trust_remote_code": True}, "unknown field 'trust_remote_code'; known are"),
        ({"extra_args": "--help"}, "unknown field 'extra_args'"),
        ({"max_num_seqs": 0}, "max_num_seqs is 0"),
        ({"max_num_seqs": True}, "a whole number is expected"),
        ({"gpu_memory_utilization": 1.5}, "gpu_memory_utilization is 1.5"),
        ({"cudagraph_mode": "FAST"}, "cudagraph_mode is 'FAST'; use one of"),
        ({"max_num_batched_tokens": 8}, "is below max_num_seqs"),
        ({"capture_sizes": [1], "enforce_eager": True}, "contradict each other"),
        ({"config": {"auto_map": {}, "architectures": ["L"]}}, "auto_map, which names code"),
        ({"config": "{"}, "config is no JSON"),
        ({"config": {}}, "names no architectures"),
        ({"config": {"architectures": ["L"]}, "model_dir": "x"}, "both given"),
    ],
)
def test_a_setting_that_is_refused(
    engine: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name, before anything is started: only listed settings reach an engine."""
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"sizes": [1], "target": "vllm", "engine": engine}))
    assert main(["--spec", str(spec), "--out", str(tmp_path / "out.json")]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_an_engine_needs_an_engines_target() -> None:
    """Settings of an engine mean nothing to a step of this project's."""
    with pytest.raises(SettingError, match="target 'llama' is no engine"):
        spec_from_json({"sizes": [1], "engine": {}})
    assert spec_from_json({"sizes": [1], "target": "vllm"}).engine is not None
