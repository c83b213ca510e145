"""The real vLLM on a card: rows and facts of its steps, and a replay that the rules explain."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from core.calibration.lockstep import explained
from core.calibration.recording import load_engine_runs
from core.cost.of_profile import memory_from_profile
from core.errors import JobError
from core.records import spec_from_json
from core.simulate import Machine
from gpu_worker.driven.measuring import engine_specs, measure_engine
from gpu_worker.driven.replay_spec import replay_spec
from gpu_worker.replay import replay_all

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card on this machine"),
    pytest.mark.skipif(
        importlib.util.find_spec("vllm") is None, reason="vLLM is not installed beside the worker"
    ),
]

MODEL = {"name": "small", "num_layers": 4, "hidden_size": 1024, "num_heads": 16, "num_kv_heads": 4,
         "head_dim": 64, "ffn_size": 2816, "vocab_size": 32000}  # fmt: skip
ENGINE = {"max_num_seqs": 32, "max_num_batched_tokens": 2048, "max_model_len": 4096,
          "gpu_memory_utilization": 0.3}  # fmt: skip
BASE = {"decode_sizes": [1, 8], "samples": 10, "model": MODEL, "engine": ENGINE}


def test_steps_of_the_real_engine() -> None:
    """With graphs a decode step takes less than without; the card's part is no longer than the
    step; captures of both kinds were seen, and together they take what the engine prints."""
    spec = spec_from_json(
        {"target": "vllm", "sizes": [1, 3, 16], "samples": 10, "model": MODEL, "engine": ENGINE}
    )
    asked = [one for one, _ in engine_specs(spec, [256, 1024], [512])]
    near, far, prefill, mixed = measure_engine(asked)
    for row in (*near.rows, *far.rows):
        assert row.error is None and row.mode == "FULL" and row.padded is not None
        assert row.eager_us is not None and row.replay_us is not None
        assert row.padded >= row.size and row.replay_us < row.eager_us
        assert row.replay_card_us is not None and 0 < row.replay_card_us < row.replay_us
    assert prefill.rows[0].error is None and mixed.rows[0].error is None
    facts = near.engine
    assert facts is not None and facts.kv_tokens and facts.capture_s is not None
    assert {group.kind for group in facts.graphs} == {"FULL", "PIECEWISE"}
    seen = sum(group.gib or 0 for group in facts.graphs)
    assert seen == pytest.approx(facts.graph_gib, abs=0.05)
    assert {"import", "start", "load weights"} <= {phase.name for phase in facts.startup}
    assert memory_from_profile(near).fixed_bytes >= 0


def test_a_replay_follows_the_schedulers_rules(tmp_path: Path) -> None:
    """Every request is served, and the rules explain the steps from the recording alone."""
    requests: list[Any] = [[0.02 * i, 50 + 37 * i % 400, 20 + 11 * i % 60] for i in range(60)]
    spec = replay_spec(
        {**BASE, "requests": requests, "lists": ["default", "4,8,32"], "repeats": 2}, tmp_path
    )
    document = replay_all(spec, tmp_path / "run.json.gz")
    limits = Machine(1 << 20, max_num_seqs=32, max_num_batched_tokens=2048)
    for run in load_engine_runs(tmp_path / "run.json.gz"):
        samples, _ = explained(run, replace(limits, kv_tokens=run.kv_tokens))
        assert len(run.trace.prompt_tokens) == 60 and samples.mismatches <= 0.01 * len(samples)
    (part,) = document["summary"]
    buckets = part["lists"]["4,8,32"]["steps_by_bucket"]
    assert set(map(int, buckets["FULL"])) <= {4, 8, 32}


def test_no_memory_is_left_behind() -> None:
    """After an engine that was measured, and after a start that fails, the card has what it had."""
    before = _free_gib()
    engine = {**ENGINE, "enforce_eager": True}
    measured = {"target": "vllm", "sizes": [1], "samples": 5, "model": MODEL, "engine": engine}
    measure_engine([spec_from_json(measured)])
    assert _free_gib() == pytest.approx(before, abs=0.2)
    too_large = {**MODEL, "num_layers": 400, "hidden_size": 8192, "ffn_size": 32768}
    with pytest.raises(JobError, match="[Mm]emory"):
        measure_engine([spec_from_json({**measured, "model": too_large})])
    assert _free_gib() == pytest.approx(before, abs=0.2)


def _free_gib() -> float:
    """Asked in this process, whose own part does not change in between."""
    return torch.cuda.mem_get_info()[0] / 2**30
