"""Profiles and a replay of a real vLLM are read, and say what they are."""

from __future__ import annotations

import json

import pytest

from core.calibration.recording import load_engine_runs
from core.records import profile_from_json
from tests.conftest import DATA

FOLDER = DATA / "vllm_profiles"
PROFILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_of_a_real_engine_is_read(path):
    """Each row has its times, and the source names the engine and its release."""
    profile = profile_from_json(json.loads(path.read_text("utf-8")), path.name)
    assert "measured on vLLM 0.23.0" in profile.source
    # A step with prefill beyond the largest size has no graph, so no replay: it ran eager.
    assert all(row.error is None and (row.replay_us or row.eager_us) for row in profile.rows)


def test_a_decode_step_on_a_graph_is_shorter_than_without():
    """At every size and context the engine's own step gains by its graphs, most at few requests."""
    for path in FOLDER.glob("*-context-*.json"):
        profile = profile_from_json(json.loads(path.read_text("utf-8")), path.name)
        for row in profile.rows:
            assert row.eager_us is not None and row.replay_us is not None
            assert row.replay_us < row.eager_us
        assert profile.rows[0].eager_us > 2 * profile.rows[0].replay_us


def test_a_replay_holds_its_runs():
    """Two runs of the default list and one of the other, each with all its requests."""
    runs = load_engine_runs(FOLDER / "replay.json.gz")
    assert [len(run.trace) for run in runs] == [2922] * 3
    assert max(runs[2].capture_sizes) == 1024 and max(runs[0].capture_sizes) == 512
