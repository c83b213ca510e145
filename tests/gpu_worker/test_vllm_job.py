"""An engine measured as a job, by a worker, from the queue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.records import MeasureSpec
from core.store.jobs import JobClient
from core.store.states import JobState, JobStatus
from gpu_worker.targets.vllm.model_folder import SETTING
from tests.gpu_worker.conftest import StartWorker, finished, wait_for
from tests.gpu_worker.driven_engine import STAND_IN, engine_spec

pytestmark = pytest.mark.slow  # each starts processes of its own

GRAPH_US, EAGER_US = 1000.0, 3000.0


def test_jobs_of_an_engine(
    client: JobClient,
    start_worker: StartWorker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its engine is killed once in the middle, and every row is there; a model that the worker was
    not told of is a failed job with the way out, and the worker goes on."""
    marker = tmp_path / "died"
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    monkeypatch.setenv("STAND_IN_VLLM", json.dumps({"die_at_step": 12, "marker": str(marker)}))
    monkeypatch.delenv(SETTING, raising=False)
    start_worker().ready()

    def run(spec: MeasureSpec) -> JobState:
        return wait_for(client, client.submit(spec), finished)[-1]

    job_id = client.submit(engine_spec(1, 2))
    done = wait_for(client, job_id, finished)[-1]
    profile = client.profile(job_id)
    assert profile is not None and profile.engine is not None
    assert profile.engine.capture_sizes == (1, 2, 4, 8) and profile.engine.graph_gib == 0.59
    assert "measured on vLLM 0.23.0" in profile.source
    assert done.status is JobStatus.DONE and marker.exists()
    assert [(row.size, row.error, row.mode) for row in done.rows] == [
        (1, None, "FULL"), (2, None, "FULL"),
    ]  # fmt: skip
    for row in done.rows:
        assert row.eager_us is not None and row.eager_us >= EAGER_US
        assert row.replay_us is not None and row.replay_us >= GRAPH_US

    refused = run(engine_spec(1, engine={"model_dir": str(tmp_path)}))
    assert refused.status is JobStatus.FAILED and "started without --models" in refused.message
    assert run(engine_spec(1)).status is JobStatus.DONE
