"""Two real cards: a worker each on one queue, two jobs at once, and a lost worker that goes on."""

from __future__ import annotations

import os
import signal

import pytest
import torch

from core.records import MeasureSpec, ModelShape
from gpu_worker.device import list_cards
from tests.gpu_worker.conftest import StartWorker, finished, wait_for

pytest.importorskip("dbos", reason="the job engine is not installed")

from core.store.jobs import JobClient  # noqa: E402
from core.store.kinds.measure import queue_name  # noqa: E402
from core.store.states import JobStatus  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two CUDA cards"),
]

MODEL = ModelShape("small", 8, 1024, 16, 4, 64, 2816, 32000, "bfloat16")
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


def spec(samples: int) -> MeasureSpec:
    return MeasureSpec(SIZES, model=MODEL, samples=samples)


def test_two_cards_work_at_once_and_a_lost_worker_goes_on(
    client: JobClient, start_worker: StartWorker
) -> None:
    """A job runs on each card at the same time; kill -9 of one worker in the middle of its job
    neither disturbs the other nor loses a finished bucket, and the worker comes back under the
    same id, on the same card, and captures again what it had captured."""
    cards = list_cards()[:2]
    worker = start_worker(devices="0,1")
    ready = worker.ready()
    for index, card in enumerate(cards):
        assert f"here-gpu{index} on {queue_name(card.kind)}" in ready
    queues = [queue_name(card.kind) for card in cards]
    # The second job is the longer one: its worker is busy until the lost one is back, which may
    # otherwise take over what waits on their common queue.
    jobs = [client.submit(spec(n), queue=q) for n, q in zip((250, 400), queues, strict=True)]
    for job_id in jobs:
        wait_for(client, job_id, lambda state: state.done >= 1, 120)
    early = [client.state(job_id) for job_id in jobs]
    assert [state.status for state in early] == [JobStatus.RUNNING] * 2
    assert {state.worker for state in early} == {"here-gpu0", "here-gpu1"}

    lost = early[0].worker
    pid = next(w.pid for w in client.workers() if w.executor_id == lost)
    os.kill(pid, signal.SIGKILL)
    late = [wait_for(client, job_id, finished, 180)[-1] for job_id in jobs]
    for before, after in zip(early, late, strict=True):
        assert after.status is JobStatus.DONE, after.message
        assert after.worker == before.worker
        assert all(row in after.rows for row in before.rows)
        assert [row.size for row in after.rows] == list(SIZES)
        assert all(row.equal and row.error is None for row in after.rows)
    back = next(w for w in client.workers() if w.executor_id == lost)
    assert back.alive and back.pid != pid
    assert worker.stop() < 2.0


def test_one_card_of_two_can_be_chosen(client: JobClient, start_worker: StartWorker) -> None:
    """`--devices 1` starts the second card's worker alone, and its rows are of that card."""
    card = list_cards()[1]
    assert "here-gpu1 on " + queue_name(card.kind) in start_worker(devices="1").ready()
    assert [w.executor_id for w in client.workers()] == ["here-gpu1"]
    job_id = client.submit(MeasureSpec((1, 8), model=MODEL, samples=50))
    done = wait_for(client, job_id, finished, 120)[-1]
    assert done.status is JobStatus.DONE, done.message
    assert done.device is not None and done.device.name == card.name
