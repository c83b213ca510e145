"""Jobs of two kinds in one queue, without any worker process. On SQLite and Postgres."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from core.errors import JobError, RecordError
from core.example.trace import example_trace
from core.readers.reading import Reading
from core.records import BucketSet, Grade, MeasureSpec
from core.serving.spec import SweepSpec, sweep_sets
from core.simulate import Machine
from core.step_cost import assumed_graph_memory, assumed_step_cost
from core.store import job_table
from core.store.database import JOBS, make_engine
from core.store.jobs import JobClient, JobStatus
from core.store.kinds import SWEEP
from core.store.prune import Retention, prune
from core.store.sessions import SessionStore
from core.store.states import UnreadableJob
from core.store.tables import BLOBS
from tests.core.store.session_cases import DOCUMENT, READING

TRACE = example_trace(num_requests=40)
REQUESTS = Reading("requests", "Requests", Grade.REQUESTS, 40, 40, trace=TRACE)
SPEC = SweepSpec(
    *(Machine(80_000), assumed_step_cost(), assumed_graph_memory(), 131_072.0),
    *(sweep_sets([None, BucketSet("few", (8, 64))]), len(TRACE)),
    loads=(1.0, 2.0),
)
Report = Callable[..., None]


@pytest.fixture
def engine(url: str):
    made = make_engine(url)
    yield made
    made.dispose()


def _digests(engine: sa.Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(sa.select(BLOBS.c.digest)).scalars())


def test_a_sweep_waits_for_its_own_kind_of_worker(client: JobClient, report: Report) -> None:
    """A measuring worker is none for it; once one that simulates listens, that one is named."""
    job_id = client.submit(SPEC, REQUESTS, sent_by="ana", session_id="s1")
    report("a-cpu", "measure.cpu")
    state = client.sweep(job_id)
    assert (state.status, state.done, state.total) == (JobStatus.WAITING, 0, 4)
    assert (state.sent_by, state.session_id, state.queue) == ("ana", "s1", "simulate")
    assert state.spec == SPEC and state.rows == () and state.now is None
    assert "no worker is listening on queue simulate (only on measure.cpu)" in state.message
    assert client.adopt_waiting("measure.cpu") == []
    assert client.adopt_waiting("simulate", SWEEP) == []
    report("a-sim", "simulate", protocol=SWEEP.protocol)
    assert client.state(job_id).message == "Waiting for a-sim to take it."
    assert client.require_worker(SWEEP).executor_id == "a-sim"
    assert client.require_worker().executor_id == "a-cpu"
    assert [w.executor_id for w in client.workers(SWEEP)] == ["a-sim"]


def test_a_protocol_that_no_worker_speaks_is_said(
    client: JobClient, report: Report, engine: sa.Engine
) -> None:
    """An older worker is to be updated; a job from before an update is to be sent again."""
    report("old-sim", "simulate", protocol="sweep-0")
    job_id = client.submit(SPEC, REQUESTS)
    text = client.state(job_id).message
    assert "worker old-sim speaks protocol sweep-0, the job sweep-1" in text
    assert "update and restart the worker" in text
    schema = "dbos." if engine.dialect.name == "postgresql" else ""
    with engine.begin() as connection:
        change = f"UPDATE {schema}workflow_status SET application_version = 'sweep-0'"
        connection.execute(sa.text(change))
    report("old-sim", "simulate", protocol=SWEEP.protocol)
    text = client.state(job_id).message
    assert "speaks protocol sweep-1, the job sweep-0" in text
    assert "cancel the job and send it again" in text
    assert client.queue().missing == (f"1 job waits: {text.removeprefix('Waiting: ')}",)


def test_the_queue_tells_everything_at_once(client: JobClient, report: Report) -> None:
    """Workers and jobs of both kinds, the newest first, and each lack once with its count."""
    first = client.submit(SPEC, REQUESTS)
    second = client.submit(SPEC, REQUESTS)
    third = client.submit(MeasureSpec((1, 2)))
    report("a-cpu", "measure.cpu")
    view = client.queue()
    assert [job.job_id for job in view.jobs] == [third, second, first]
    assert [job.kind for job in view.jobs] == ["measure", "sweep", "sweep"]
    assert [worker.executor_id for worker in view.workers] == ["a-cpu"]
    (text,) = view.missing
    assert text.startswith("2 jobs wait: no worker is listening on queue simulate")
    assert view.now_s >= max(job.submitted_at for job in view.jobs)
    assert [job.job_id for job in client.jobs(kind="measure")] == [third]
    assert view.jobs[0].title_text == "Measurement of small-llama, 2 sizes"
    assert view.jobs[1].title_text == "Sweep of 2 sets under 2 loads, 40 requests"


def test_a_waiting_job_is_never_out_of_sight(client: JobClient) -> None:
    """However many have ended since: it is in the queue's view, after the newest."""
    old = client.submit(MeasureSpec((1,)))
    ended = [client.submit(MeasureSpec((1,))) for _ in range(3)]
    for job_id in ended:
        client.cancel(job_id)
    assert [job.job_id for job in client.queue(limit=2).jobs] == [*ended[:0:-1], old]
    assert [job.job_id for job in client.queue(limit=9).jobs] == [*ended[::-1], old]


def test_only_the_sender_ends_a_job(client: JobClient) -> None:
    """Cancel and delete by somebody else are refused; nobody's job is everybody's."""
    job_id, nobodys = client.submit(SPEC, REQUESTS, sent_by="ana"), client.submit(SPEC, REQUESTS)
    with pytest.raises(JobError, match="sent by somebody else"):
        client.cancel(job_id, by="ben")
    assert client.state(job_id).status is JobStatus.WAITING
    client.cancel(job_id, by="ana")
    assert client.state(job_id).message == "Cancelled by the user; 0 of 4 runs served."
    with pytest.raises(JobError, match="sent by somebody else"):
        client.delete(job_id, by="ben")
    client.delete(job_id, by="ana")
    client.cancel(nobodys, by="ben")
    client.delete(nobodys, by="ben")
    assert client.jobs() == []


def test_requests_are_kept_once_and_as_long_as_a_job_needs_them(
    client: JobClient, store: SessionStore, engine: sa.Engine, url: str
) -> None:
    """Two jobs and a session with the same traffic hold one piece of content; it goes with the
    last of them."""
    first, second = (client.submit(SPEC, REQUESTS) for _ in range(2))
    (digest,) = _digests(engine)
    assert client.sweep(first).workload == client.sweep(second).workload == digest
    with engine.connect() as connection:
        back = job_table.load_workload(connection, digest)
    assert back.trace is not None and back.trace.arrival_s is not None
    assert back.trace.arrival_s.tolist() == TRACE.arrival_s.tolist()  # type: ignore[union-attr]
    for job_id in (first, second):
        assert prune(url, Retention(job_days=365, grace_s=0)).blobs == 0
        client.cancel(job_id)
        client.delete(job_id)
    assert prune(url, Retention(grace_s=0)).blobs == 1

    session_id = store.create("ana", DOCUMENT, READING)
    named = set(_digests(engine))
    job_id = client.submit(SPEC, READING)
    assert set(_digests(engine)) == named and client.sweep(job_id).workload in named
    client.cancel(job_id)
    client.delete(job_id)
    assert prune(url, Retention(grace_s=0)).blobs == 0
    assert store.load_workload(session_id, "ana").trace is not None


def test_requests_that_are_gone_are_named(engine: sa.Engine) -> None:
    """The worker's sentence, and so the job's."""
    with engine.connect() as connection, pytest.raises(JobError, match="requests abc of this job"):
        job_table.load_workload(connection, "abc")


def test_the_wrong_kind_is_refused_by_name(client: JobClient) -> None:
    """A page that draws a sweep gets no measurement, and the other way round."""
    sweep, measure = client.submit(SPEC, REQUESTS), client.submit(MeasureSpec((1,)))
    with pytest.raises(JobError, match="is a measure, no sweep"):
        client.sweep(measure)
    with pytest.raises(JobError, match="is a sweep, no measurement"):
        client.measurement(sweep)


@pytest.mark.parametrize("damage", [{"spec": '{"format": 9}'}, {"kind": "dream"}, {"spec": "{"}])
def test_a_job_that_cannot_be_read_stops_no_list(
    client: JobClient, engine: sa.Engine, damage: dict[str, str]
) -> None:
    """It is shown with the reason, and can be cancelled and deleted."""
    bad, good = client.submit(SPEC, REQUESTS), client.submit(SPEC, REQUESTS)
    with engine.begin() as connection:
        connection.execute(sa.update(JOBS).where(JOBS.c.job_id == bad).values(**damage))
    states = {job.job_id: job for job in client.jobs()}
    assert isinstance(states[bad], UnreadableJob) and states[bad].message
    assert states[good].total == 4
    with pytest.raises((RecordError, JobError)):
        client.state(bad)
    client.cancel(bad)
    assert client.jobs()[1].status is JobStatus.CANCELLED
    client.delete(bad)
    assert [job.job_id for job in client.jobs()] == [good]


def test_tries_count_a_step_that_does_not_end(client: JobClient, engine: sa.Engine) -> None:
    """One more each time the same step is begun; another step starts anew; an end in good order
    takes one back; a job without a row counts as tried once."""
    job_id = client.submit(MeasureSpec((1, 2)))

    def begin(step: str) -> int:
        with engine.begin() as connection:
            return job_table.begin_try(connection, job_id, step)

    assert [begin("bucket 2") for _ in range(3)] == [1, 2, 3]
    with engine.begin() as connection:
        job_table.take_back_try(connection, job_id)
    assert begin("bucket 2") == 3
    assert begin("bucket 1") == 1
    with engine.begin() as connection:
        for _ in range(2):
            job_table.take_back_try(connection, job_id)
    assert begin("bucket 1") == 1
    with engine.begin() as connection:
        assert job_table.begin_try(connection, "no such job", "step") == 1


def test_a_cancel_wins_over_a_worker_that_adopts(
    client: JobClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine would wake a cancelled job that is moved to another queue in the same moment."""
    job_id = client.submit(MeasureSpec((1,)))
    resume = client._client.resume_workflow

    def cancelled_in_between(*args: object, **options: object) -> None:
        client.cancel(job_id)
        resume(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(client._client, "resume_workflow", cancelled_in_between)
    client.adopt_waiting("measure.nvidia-h200")
    assert client.state(job_id).status is JobStatus.CANCELLED
