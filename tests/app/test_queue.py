"""The Queue page: workers, jobs of every kind, what is missing, and its buttons."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from app.measuring import jobs
from core.errors import JobError
from core.example.trace import example_trace
from core.readers.reading import Reading
from core.records import BucketSet, Grade, MeasureSpec
from core.serving.spec import SweepSpec, sweep_sets
from core.simulate import Machine
from core.step_cost import assumed_graph_memory, assumed_step_cost
from core.store import workers as heartbeats
from core.store.database import JOBS, WORKERS, make_engine
from core.store.jobs import JobClient, JobStatus
from core.store.kinds import MEASURE, SWEEP
from core.store.workers import Identity
from tests.app.apptest import open_app, table_row, texts, to_page

pytestmark = pytest.mark.usefixtures("own_database")

TRACE = example_trace(num_requests=40)
REQUESTS = Reading("requests", "Requests", Grade.REQUESTS, 40, 40, trace=TRACE)
SPEC = SweepSpec(
    *(Machine(80_000), assumed_step_cost(), assumed_graph_memory(), 131_072.0),
    *(sweep_sets([None, BucketSet("few", (8, 64))]), len(TRACE)),
    loads=(1.0, 2.0),
)


@pytest.fixture
def client(own_database: None) -> Iterator[JobClient]:
    from core.store.engine import migrate

    url = os.environ["BUCKETWISE_DATABASE_URL"]
    migrate(url)
    made = JobClient(url)
    yield made
    made.close()


def report(client: JobClient, executor_id: str, queue: str, protocol: str, doing: str) -> None:
    engine = make_engine(client.url)
    who = Identity(executor_id, "node7", 1, "card", "Card X", queue, protocol)
    heartbeats.beat(engine, who, time.time(), doing)
    engine.dispose()


def change(client: JobClient, statement: sa.Update) -> None:
    engine = make_engine(client.url)
    with engine.begin() as connection:
        connection.execute(statement)
    engine.dispose()


def press(at, key: str):
    at.button(key=key).click().run()
    assert not at.exception, at.exception
    return at


def test_an_empty_queue_says_how_to_start(client: JobClient):
    """No worker and no job: what to start, and where jobs come from."""
    text = texts(open_app("queue.py"))
    assert "Start one with `python -m gpu_worker`" in text
    assert "Send a measurement on the Measure page, or a sweep on Serve." in text


def test_workers_and_what_they_do(client: JobClient):
    """Each worker's card, queue, protocol, work and last word; a silent one is said to be lost."""
    report(client, "node7-gpu0", "measure.card", MEASURE.protocol, "measuring bucket 8")
    report(client, "node7-sim", "simulate", SWEEP.protocol, "idle")
    silent = WORKERS.c.executor_id == "node7-sim"
    ago = WORKERS.c.seen_at - 40
    change(client, sa.update(WORKERS).where(silent).values(seen_at=ago, doing="serving few"))
    at = open_app("queue.py")
    row = table_row(at, "worker", "node7-gpu0")
    assert (row["does"], row["device"], row["queue"]) == (
        *("measuring bucket 8", "Card X", "measure.card"),
    )
    assert (row["host"], row["protocol"]) == ("node7", MEASURE.protocol)
    row = table_row(at, "worker", "node7-sim")
    assert row["does"] == "lost; was serving few" and row["last heard"].startswith("4")


def test_what_is_missing_is_said_with_the_way_out(client: JobClient):
    """Two sweeps wait while only a measuring worker lives."""
    report(client, "node7-gpu0", "measure.card", MEASURE.protocol, "idle")
    for _ in range(2):
        client.submit(SPEC, REQUESTS)
    (warning,) = open_app("queue.py").warning
    said = warning.value.replace("\\", "")
    assert "2 jobs wait: no worker is listening on queue simulate (only on measure.card)" in said
    assert "python -m gpu_worker" in said


def test_a_job_is_cancelled_and_deleted(client: JobClient):
    """It waits with its message and age; Cancel moves it to the ended ones, Delete takes it out."""
    job_id = client.submit(SPEC, REQUESTS, sent_by="local")
    at = open_app("queue.py")
    text = texts(at).replace("\\", "")
    assert "Sweep of 2 sets under 2 loads, 40 requests" in text and "waiting" in text
    assert "Sent 0 s ago, queue simulate." in text or "Sent 1 s ago, queue simulate." in text
    press(at, f"cancel_{job_id}")
    assert client.state(job_id).status is JobStatus.CANCELLED
    text = texts(at).replace("\\", "")
    assert "Cancelled by the user; 0 of 4 runs served." in text
    press(at, f"delete_{job_id}")
    assert client.jobs() == []
    assert "Nothing yet." in texts(at)


def test_a_job_that_is_gone_already_is_one_sentence(client: JobClient):
    """Somebody else deleted it while the page stood open."""
    job_id = client.submit(MeasureSpec((1,)), sent_by="local")
    client.cancel(job_id)
    at = open_app("queue.py")
    client.delete(job_id)
    press(at, f"delete_{job_id}")
    assert any("There is no job" in e.value.replace("\\", "") for e in at.error)


def test_somebody_elses_job_can_be_seen_and_not_ended(client: JobClient):
    """Who sent it is not told to a stranger, and there is no button to end it."""
    job_id = client.submit(SPEC, REQUESTS, sent_by="oidc:1234", session_id="secret-session")
    at = open_app("queue.py")
    assert "by somebody else" in texts(at)
    assert not [b for b in at.button if b.key == f"cancel_{job_id}"]
    assert "1234" not in texts(at) and "secret-session" not in texts(at)


def test_the_session_of_a_job_is_named_to_its_members(client: JobClient):
    """A sweep sent from a kept session says from which."""
    from app.sessions import current as sessions
    from core.records.session import TuningSession

    name = "Night <b>shift</b> [x](http://y)"
    session_id = sessions.store().create("local", TuningSession(name))
    client.submit(SPEC, REQUESTS, sent_by="local", session_id=session_id)
    at = open_app("queue.py")
    written = [element.value for element in (*at.markdown, *at.caption)]
    assert not any(name in value for value in written), "drawn as text, not as Markdown"
    assert f"from session {name}" in texts(at)


def test_open_leads_to_the_rows(client: JobClient):
    """A measurement opens on Measure, a sweep on Serve, also where its traffic is not at hand."""
    measure = client.submit(MeasureSpec((1, 2)), sent_by="local")
    sweep = client.submit(SPEC, REQUESTS, sent_by="local")
    at = press(open_app("queue.py"), f"open_{measure}")
    assert at.title[0].value == "Measure"
    assert "0 of 2 sizes, waiting" in at.get("progress")[0].proto.text
    at = press(to_page(at, "queue.py"), f"open_{sweep}")
    assert at.title[0].value == "Serve"
    assert at.subheader[0].value == "The sweep sent last"
    said = at.get("progress")[0].proto.text.replace("\\", "")
    assert said.startswith("Job waiting. Waiting: no worker is listening on queue simulate")


def test_a_sweep_that_goes_while_it_is_watched_is_one_sentence(
    client: JobClient, monkeypatch: pytest.MonkeyPatch
):
    """The first look finds it, the next does not: the error is drawn as text, the page stays."""
    found = client.sweep(client.submit(SPEC, REQUESTS, sent_by="local"))
    looks: list[str] = []

    def look(job_id: str):
        looks.append(job_id)
        if len(looks) == 2:
            raise JobError(f"There is no job {job_id} [x](http://y).")
        return found

    monkeypatch.setattr(jobs, "sweep_state", look)
    at = open_app("serve.py", sweep=found.job_id)
    (error,) = at.error
    assert error.value.replace("\\", "") == f"There is no job {found.job_id} [x](http://y)."
    assert "](" not in error.value
    at.run()
    assert not at.error and not at.exception and at.get("progress")


def test_a_job_that_cannot_be_read_is_shown_with_the_reason(client: JobClient):
    """A newer version wrote it: the other jobs are drawn, and it can be ended."""
    job_id = client.submit(SPEC, REQUESTS, sent_by="local")
    other = client.submit(MeasureSpec((1,)), sent_by="local")
    change(client, sa.update(JOBS).where(JOBS.c.job_id == job_id).values(spec='{"format": 7}'))
    at = open_app("queue.py")
    drawn = texts(at) + " ".join(bar.proto.text for bar in at.get("progress"))
    assert "format is 7, this version reads 1" in drawn.replace("\\", "")
    assert at.button(key=f"cancel_{other}")
    press(at, f"cancel_{job_id}")
    assert {job.status for job in client.jobs()} == {JobStatus.CANCELLED, JobStatus.WAITING}
