"""The whole worker on a card: queue by kind, cancel inside a bucket, resume after kill -9."""

from __future__ import annotations

import os
import signal
import time

import pytest
import torch

from core.records import MeasureSpec, ModelShape
from gpu_worker.device import list_cards
from tests.gpu_worker.conftest import StartWorker, wait_for

pytest.importorskip("dbos", reason="the job engine is not installed")

from core.store.jobs import JobClient  # noqa: E402
from core.store.kinds.measure import queue_name  # noqa: E402
from core.store.states import JobStatus  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card on this machine"),
]

MODEL = ModelShape("small", 8, 1024, 16, 4, 64, 2816, 32000, "bfloat16")


def spec(*sizes: int, samples: int = 200, warmup: int = 3) -> MeasureSpec:
    return MeasureSpec(sizes, model=MODEL, samples=samples, warmup=warmup)


def used_bytes() -> int:
    """What all processes together use of the first card."""
    free, total = torch.cuda.mem_get_info(0)
    return total - free


def settled_bytes(below: int, seconds: float = 10.0) -> int:
    """Used memory, once it is below or time is up: a killed process's memory takes a moment."""
    deadline = time.monotonic() + seconds
    while used_bytes() > below and time.monotonic() < deadline:
        time.sleep(0.1)
    return used_bytes()


def test_a_card_takes_jobs_and_gives_its_memory_back(
    client: JobClient, start_worker: StartWorker
) -> None:
    """A worker a card, on its kind's queue; measured rows are equal; a cancel in the middle of a
    bucket and two jobs in a row leave no memory behind; kill -9 loses no finished bucket."""
    waiting = client.submit(spec(1, 8, 32))  # sent before any worker, so on no card's queue yet
    cards = list_cards()
    before = used_bytes()
    worker = start_worker(devices="0")
    assert "here-gpu0 on " + queue_name(cards[0].kind) in worker.ready()
    first = wait_for(client, waiting, lambda s: s.finished, 120)[-1]
    assert first.status is JobStatus.DONE, first.message
    assert first.device is not None and first.device.graphs and first.device.copy_gbps
    assert all(row.equal and row.error is None for row in first.rows)
    assert first.queue == queue_name(cards[0].kind) == client.best_queue()
    slack = 16 * 2**20
    assert settled_bytes(before + slack) <= before + slack

    endless = client.submit(spec(8, warmup=10_000_000))
    wait_for(client, endless, lambda s: s.now == 8, 120)
    time.sleep(2)
    client.cancel(endless)
    assert settled_bytes(before + slack) <= before + slack
    assert client.state(endless).status is JobStatus.CANCELLED

    job_id = client.submit(spec(1, 2, 4, 8, 16, samples=1500))
    early = wait_for(client, job_id, lambda s: s.done == 2, 120)[-1]
    os.kill(client.require_worker().pid, signal.SIGKILL)
    late = wait_for(client, job_id, lambda s: s.finished, 120)[-1]
    assert late.status is JobStatus.DONE and all(row in late.rows for row in early.rows)
    assert [row.size for row in late.rows] == [1, 2, 4, 8, 16]
    # The pool was as if nothing had happened: what was captured before was captured again.
    assert all(row.equal for row in late.rows)
    assert worker.stop() < 2.0
    assert settled_bytes(before + slack) <= before + slack
