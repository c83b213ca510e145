"""A measuring process that dies is replaced and its bucket tried again, twice at most."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from core.errors import JobError
from core.records import to_json_dict
from core.store.database import JOBS
from core.store.jobs import JobClient
from gpu_worker import session as session_module
from gpu_worker import workflow
from gpu_worker.running import MAX_TRIES, Running, Step, StepStoppedError
from gpu_worker.session import never
from tests.gpu_worker.conftest import tiny_spec

# Dies at the question that it is told, of buckets at 2, as often as a file says, and tells through
# the sample count what it captured.
STAND_IN = """
import json, os, sys
from pathlib import Path
deaths, captured = Path(sys.argv[1]), 0
deadly = sys.argv[2]
for line in sys.stdin:
    question = json.loads(line)
    left = int(deaths.read_text())
    if left and deadly in question and question[deadly] not in (1, 8):
        deaths.write_text(str(left - 1))
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(7)
    if "open" in question:
        answer = {"device": {"kind": "cpu", "name": "stand-in", "graphs": False}}
    elif "restore" in question:
        captured += len(question["restore"])
        answer = {"restored": len(question["restore"])}
    else:
        captured += 1
        answer = {"row": {"size": question["measure"], "eager_us": 1.0, "samples": captured}}
    print(json.dumps(answer), flush=True)
"""


def stand_in(tmp_path: Path, deadly: str = "measure") -> list[str]:
    """The command of one that dies when it is asked for this."""
    return [sys.executable, "-c", STAND_IN, str(tmp_path / "deaths"), deadly]


@pytest.fixture
def running(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A worker's one job, without the engine that asks whether it is to stop."""
    made = Running()
    made.connect(url, "here-cpu")
    monkeypatch.setattr(made, "must_stop", lambda job_id: never)
    monkeypatch.setattr(workflow, "RUNNING", made)
    yield made
    workflow.BENCH.close()
    made.engine.dispose()


def measure(running: Running, job_id: str, deaths: int, tmp_path: Path):
    """Bucket 2, after bucket 8, with a process that dies so often."""
    (tmp_path / "deaths").write_text(str(deaths))
    step = Step(running, job_id, "bucket 2", running.begin(job_id, "bucket 2"))
    row = workflow._measured(step, to_json_dict(tiny_spec(8, 2)), 2, [8])
    return row, step.tries, int((tmp_path / "deaths").read_text())


@pytest.mark.parametrize("deaths", [0, 1, 2])
def test_a_bucket_survives_two_deaths(
    client: JobClient, running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, deaths
) -> None:
    """The row is measured, after what was captured before was captured again."""
    command = stand_in(tmp_path)
    monkeypatch.setattr(session_module, "COMMAND", command)
    job_id = client.submit(tiny_spec(8, 2))
    row, tries, left = measure(running, job_id, deaths, tmp_path)
    assert row.error is None and row.samples == 2, "bucket 8 again, then bucket 2"
    assert tries == deaths + 1 and left == 0


def test_after_the_third_death_it_is_given_up(
    client: JobClient, running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The row holds how it died and how often it was tried; a worker that comes back to the same
    bucket does not try again."""
    command = stand_in(tmp_path)
    monkeypatch.setattr(session_module, "COMMAND", command)
    job_id = client.submit(tiny_spec(8, 2))
    row, tries, left = measure(running, job_id, 9, tmp_path)
    assert row.error is not None and row.eager_us is None
    assert "exit code 7: out of luck" in row.error and row.error.endswith("; tried 3 times")
    assert (tries, left) == (MAX_TRIES, 9 - MAX_TRIES)
    row, _, left = measure(running, job_id, 9, tmp_path)
    assert row.error == "Given up: the worker ended each of the 3 times that this was tried."
    assert left == 9, "it was not tried"


def test_a_database_that_is_away_is_waited_for(running: Running) -> None:
    """A question is asked again until it is answered; a worker that shuts down asks no more."""
    asked = []

    def question(connection: sa.Connection) -> str:
        asked.append(1)
        if len(asked) < 2:
            raise exc.OperationalError("select", {}, Exception("database is locked"))
        return "answer"

    assert running.ask(question) == "answer" and len(asked) == 2
    asked.clear()
    threading.Timer(0.1, running.stopping.set).start()
    with pytest.raises(StepStoppedError):
        running.ask(lambda connection: question(connection) and asked.clear())


def test_a_question_that_is_wrong_is_not_asked_again(running: Running) -> None:
    """Only an absent database is waited for."""
    with pytest.raises(exc.SQLAlchemyError):
        running.ask(lambda connection: connection.execute(sa.text("SELECT nothing FROM nowhere")))


def test_the_try_is_taken_back_before_the_process_is_waited_for(
    client: JobClient, running: Running
) -> None:
    """A supervisor that kills after 1.5 s may not let the measuring process end first; four stops
    in good order leave the bucket its first try."""
    job_id = client.submit(tiny_spec(8, 2))
    left = []

    def close() -> None:
        with running.engine.begin() as connection:
            tries = sa.select(JOBS.c.tries).where(JOBS.c.job_id == job_id)
            left.append(connection.execute(tries).scalar())

    running.close = close
    for _ in range(MAX_TRIES + 1):
        running.begin(job_id, "bucket 8")
        running._job_id = job_id
        running.shut_down()
        running.stopping.clear()
    assert left == [0] * (MAX_TRIES + 1)
    assert running.begin(job_id, "bucket 8") == 1


@pytest.mark.parametrize("deaths", [1, 2, 9])
def test_loading_the_model_survives_two_deaths(
    client: JobClient, running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, deaths
) -> None:
    """The third fails the job, with how it died and how often it was tried."""
    monkeypatch.setattr(session_module, "COMMAND", stand_in(tmp_path, "open"))
    (tmp_path / "deaths").write_text(str(deaths))
    job_id = client.submit(tiny_spec(8, 2))
    step = Step(running, job_id, "open", running.begin(job_id, "open"))
    spec = to_json_dict(tiny_spec(8, 2))
    if deaths < MAX_TRIES:
        device, _ = workflow._opened(step, spec)
        assert device.name == "stand-in" and step.tries == deaths + 1
        return
    with pytest.raises(JobError) as caught:
        workflow._opened(step, spec)
    assert str(caught.value) == (
        "The model could not be loaded: The measuring process ended with exit code 7: out of luck; "
        "tried 3 times."
    )
    assert (tmp_path / "deaths").read_text() == str(deaths - MAX_TRIES)


@pytest.mark.parametrize("deadly", ["open", "restore"])
def test_a_death_on_the_way_to_a_bucket_is_tried_again(
    client: JobClient, running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, deadly
) -> None:
    """While the model is loaded anew or the earlier graphs are captured again: twice at most, then
    the bucket's row holds how it died, and the job goes on."""
    monkeypatch.setattr(session_module, "COMMAND", stand_in(tmp_path, deadly))
    job_id = client.submit(tiny_spec(8, 2))
    row, tries, left = measure(running, job_id, 2, tmp_path)
    assert row.error is None and row.samples == 2 and (tries, left) == (3, 0)
    workflow.BENCH.close()
    job_id = client.submit(tiny_spec(8, 2))
    row, tries, left = measure(running, job_id, 9, tmp_path)
    assert row.error is not None and row.error.endswith("exit code 7: out of luck; tried 3 times")
    assert row.error.startswith(
        "Graphs could not be captured again" if deadly == "restore" else "The"
    )
    assert (tries, left) == (MAX_TRIES, 9 - MAX_TRIES)
