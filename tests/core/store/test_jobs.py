"""Jobs as a dashboard sees them, without any worker process."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer
from dbos._serialization import deserialize_args

from core.errors import JobError, NoWorkerError, SettingError
from core.records import MeasureSpec
from core.store import states
from core.store.database import JOBS, WORKERS, make_engine
from core.store.engine import PickleRefusedError, engine_url
from core.store.jobs import JobClient
from core.store.kinds import MEASURE
from core.store.kinds.measure import CPU_QUEUE
from core.store.states import JobStatus

SPEC = MeasureSpec((4, 1, 2), samples=7)
Report = Callable[..., None]


def test_a_job_without_a_worker_says_so(client: JobClient) -> None:
    """It waits, and the sentence names the command that starts a worker."""
    state = client.state(client.submit(SPEC))
    assert state.status is JobStatus.WAITING
    assert (state.done, state.total, state.now, state.rows) == (0, 3, None, ())
    assert "no worker is listening" in state.message
    assert "python -m gpu_worker" in state.message
    assert state.spec == SPEC
    assert abs(state.submitted_at - time.time()) < 60
    with pytest.raises(NoWorkerError, match="python -m gpu_worker"):
        client.require_worker()


def test_the_newest_of_one_person(client: JobClient) -> None:
    """Jobs of others and of nobody are not among them."""
    mine = client.submit(SPEC, sent_by="local")
    client.submit(SPEC, sent_by="oidc:1234")
    client.submit(SPEC)
    assert [job.job_id for job in client.jobs(1, MEASURE.name, sent_by="local")] == [mine]
    assert len(client.jobs()) == 3


def test_a_worker_on_another_queue_is_named(client: JobClient, report: Report) -> None:
    """The sentence tells where somebody does listen."""
    report("node-gpu0", "measure.nvidia-l4")
    state = client.state(client.submit(SPEC, queue="measure.nvidia-h200"))
    assert "queue measure.nvidia-h200" in state.message
    assert "measure.nvidia-l4" in state.message


def test_a_worker_of_another_protocol_is_named(client: JobClient, report: Report) -> None:
    """It will never take the job, so the user is told to update it."""
    report("old-cpu", CPU_QUEUE, protocol="measure-0")
    state = client.state(client.submit(SPEC))
    assert "measure-0" in state.message and MEASURE.protocol in state.message


def test_a_busy_worker_is_named(client: JobClient, report: Report) -> None:
    """A job that only waits its turn says for what."""
    report("node-cpu", CPU_QUEUE, doing="measuring bucket 8")
    assert "busy (measuring bucket 8)" in client.state(client.submit(SPEC)).message


def test_queue_is_that_of_a_live_gpu(client: JobClient, report: Report) -> None:
    """GPU before CPU, idle before busy; dead, stopped and foreign workers do not count."""
    assert client.best_queue() == CPU_QUEUE
    report("a-cpu", CPU_QUEUE)
    assert client.best_queue() == CPU_QUEUE
    report("b-gpu0", "measure.nvidia-l4", doing="measuring bucket 1")
    assert client.best_queue() == "measure.nvidia-l4"
    report("c-gpu0", "measure.nvidia-h200")
    assert client.best_queue() == "measure.nvidia-h200"
    report("c-gpu0", "measure.nvidia-h200", doing=states.STOPPED)
    report("d-gpu0", "measure.nvidia-b200", protocol="measure-0")
    assert client.best_queue() == "measure.nvidia-l4"


def test_a_silent_worker_counts_as_dead(client: JobClient, report: Report, url: str) -> None:
    """After the lease without a word it is not alive any more."""
    report("a-gpu0", "measure.nvidia-h200")
    assert client.workers()[0].alive
    engine = make_engine(url)
    with engine.begin() as connection:
        past = WORKERS.c.seen_at - states.LEASE_S - 1
        connection.execute(sa.update(WORKERS).values(seen_at=past))
    engine.dispose()
    assert not client.workers()[0].alive
    assert client.best_queue() == CPU_QUEUE


def test_waiting_jobs_move_to_a_worker_that_comes_later(client: JobClient, report: Report) -> None:
    """A job sent before any worker was up runs on what comes up; a named queue stays."""
    free, fixed = client.submit(SPEC), client.submit(SPEC, queue="measure.nvidia-b200")
    report("a-gpu0", "measure.nvidia-h200")
    assert client.adopt_waiting("measure.nvidia-h200") == [free]
    assert client.state(free).queue == "measure.nvidia-h200"
    assert client.state(free).message == "Waiting for a-gpu0 to take it."
    assert client.state(fixed).queue == "measure.nvidia-b200"
    assert client.adopt_waiting("measure.nvidia-h200") == []


def test_jobs_of_a_live_queue_are_not_taken_away(client: JobClient, report: Report) -> None:
    """A GPU does not take what waits for a live CPU worker."""
    report("a-cpu", CPU_QUEUE)
    job_id = client.submit(SPEC)
    assert client.adopt_waiting("measure.nvidia-h200") == []
    assert client.state(job_id).queue == CPU_QUEUE


def test_cancelling_a_waiting_job(client: JobClient) -> None:
    """It is the user's cancel, not a time-out; a second cancel changes nothing."""
    job_id = client.submit(SPEC, timeout_s=60)
    client.cancel(job_id)
    client.cancel(job_id)
    state = client.state(job_id)
    assert state.status is JobStatus.CANCELLED and state.finished
    assert state.message == "Cancelled by the user; 0 of 3 buckets measured."


def test_newest_job_first_and_delete(client: JobClient) -> None:
    """Only a job that has ended can be deleted."""
    first, second = client.submit(SPEC), client.submit(SPEC)
    assert [job.job_id for job in client.jobs()] == [second, first]
    assert [job.job_id for job in client.jobs(limit=1)] == [second]
    with pytest.raises(JobError, match="cancel it first"):
        client.delete(first)
    client.cancel(first)
    client.delete(first)
    assert [job.job_id for job in client.jobs()] == [second]
    with pytest.raises(JobError, match="no job"):
        client.state(first)


def test_no_profile_before_the_first_row(client: JobClient) -> None:
    """There is nothing to draw yet."""
    assert client.profile(client.submit(SPEC)) is None


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_time_out_must_be_positive(client: JobClient, timeout_s: float) -> None:
    """A limit of no time would end every job; nothing is queued."""
    with pytest.raises(SettingError, match="timeout_s"):
        client.submit(SPEC, timeout_s=timeout_s)
    assert client.jobs() == []


def test_unknown_job(client: JobClient) -> None:
    """One sentence, no traceback of the engine."""
    with pytest.raises(JobError, match="no job 'nope'"):
        client.state("nope")


def test_index_and_engine_are_written_together(
    client: JobClient, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """If the engine refuses the job, our index does not keep it either."""

    def broken(*_args: object) -> None:
        raise RuntimeError("engine is down")

    monkeypatch.setattr(client._client, "enqueue_in_transaction", broken)
    with pytest.raises(RuntimeError):
        client.submit(SPEC)
    engine = make_engine(url)
    with engine.connect() as connection:
        assert connection.execute(sa.select(JOBS)).all() == []
    engine.dispose()


class Trap:
    """Unpickling it would run code."""

    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("a pickled payload was executed",))


def test_client_never_unpickles(client: JobClient, url: str) -> None:
    """A job that another program queued in pickle is refused when its content is asked for."""
    stranger = DBOSClient(system_database_url=engine_url(url))
    options = {"workflow_name": MEASURE.workflow, "queue_name": CPU_QUEUE, "workflow_id": "evil"}
    stranger.enqueue(options, Trap())  # pyright: ignore[reportArgumentType]
    stranger.destroy()
    found = client._client.list_workflows(workflow_ids=["evil"])[0]
    assert isinstance(found.input, str), "handed on undecoded"
    with pytest.raises(PickleRefusedError, match="JSON only"):
        deserialize_args(found.input, "py_pickle", DBOSPortableJSONSerializer())
    assert client.jobs() == []
