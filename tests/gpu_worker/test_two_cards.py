"""One worker a card: two jobs at once on one queue, and a lost worker that comes back as itself.

The cards are stand-ins that a machine without any has too: the workers are real, and measure on
the CPU. tests/gpu_worker/test_gpu_two_cards.py holds the same on real cards.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from core.store.jobs import JobClient
from core.store.states import JobStatus
from gpu_worker.child import measuring_child
from gpu_worker.device import Card
from gpu_worker.supervisor import Supervisor
from tests.gpu_worker.conftest import BOTH_DATABASES, finished, slow_spec, wait_for

pytestmark = [pytest.mark.slow, BOTH_DATABASES]

SHORT, LONG = (1, 2, 4, 8, 16, 32), tuple(range(1, 41))
"""The longer job keeps its worker busy while the other begins, and until the lost one is back:
either may take what waits."""


@pytest.fixture
def supervisor(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    """Two cards of one kind, each with its worker, watched as `python -m gpu_worker` does."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    cards = [Card("stand-in", "Stand-in card", index) for index in range(2)]
    made = Supervisor(url, [measuring_child("here", card) for card in cards])
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            made.step(time.monotonic())

    made.start(lambda: False)
    thread = threading.Thread(target=watch)
    thread.start()
    yield made
    over.set()
    thread.join()
    made.stop()


def test_two_cards_work_at_once_and_a_lost_worker_goes_on(
    client: JobClient, supervisor: Supervisor
) -> None:
    """Two jobs on the cards' one queue run side by side, a worker each; kill -9 of one worker
    loses the bucket in flight, and the worker that comes back under its id goes on there."""
    second, first = (client.submit(slow_spec(*sizes)) for sizes in (LONG, SHORT))
    for job_id in (second, first):
        wait_for(client, job_id, lambda state: state.done >= 1)
    states = {job_id: client.state(job_id) for job_id in (first, second)}
    assert {state.queue for state in states.values()} == {"measure.stand-in"}
    assert {state.worker for state in states.values()} == {"here-gpu0", "here-gpu1"}
    assert [state.status for state in states.values()] == [JobStatus.RUNNING] * 2

    before = states[first]
    pid = next(w.pid for w in client.workers() if w.executor_id == before.worker)
    os.kill(pid, signal.SIGKILL)
    for job_id, sizes in ((first, SHORT), (second, LONG)):
        after = wait_for(client, job_id, finished)[-1]
        assert after.status is JobStatus.DONE and after.worker == states[job_id].worker
        assert [(row.size, row.error) for row in after.rows] == [(size, None) for size in sizes]
        assert all(row in after.rows for row in states[job_id].rows)
        steps = [step["function_name"] for step in client._client.list_workflow_steps(job_id)]
        assert steps == ["open_device"] + ["measure_bucket"] * len(sizes)
    back = next(w for w in client.workers() if w.executor_id == before.worker)
    assert back.alive and back.pid != pid


def test_each_worker_sees_its_own_card(supervisor: Supervisor) -> None:
    """The environment of a card's worker names that card alone."""
    seen = []
    for child in supervisor.children:
        assert child.process is not None
        with open(f"/proc/{child.process.pid}/environ", "rb") as file:
            pairs = [entry.partition(b"=") for entry in file.read().split(b"\0")]
        seen.append({name: value for name, _, value in pairs}[b"CUDA_VISIBLE_DEVICES"])
    assert seen == [b"0", b"1"]
