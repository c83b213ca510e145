"""Pickle in any column of the job engine's tables is refused by the dashboard's client.

Whoever can write to the database may put pickle there, and the engine decodes a row as the row
itself says. The worker's side is in tests/gpu_worker/test_worker_process.py, sessions are JSON and
numbers only (tests/core/store/test_session_store.py).
"""

from __future__ import annotations

import base64
import pickle
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from benchmarks.reliability.job_tasks import MEASUREMENT, SWEEP, send
from core.errors import ProjectError
from core.store.database import make_engine
from core.store.jobs import JobClient
from core.store.states import JobStatus, UnreadableJob

PICKLE = "py_pickle"
STEPS = {MEASUREMENT: "measure_bucket", SWEEP: "serve_point"}


class Payload:
    """Unpickling it writes a file."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.proof,))


def packed(proof: Path) -> str:
    return base64.b64encode(pickle.dumps(Payload(proof))).decode()


class Engine:
    """The job engine's tables, written as a stranger would."""

    def __init__(self, url: str) -> None:
        self.engine = make_engine(url)
        self._schema = "dbos" if self.engine.dialect.name == "postgresql" else None

    def table(self, name: str) -> sa.Table:
        return sa.Table(name, sa.MetaData(), schema=self._schema, autoload_with=self.engine)

    def write(self, statement: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(statement)

    def status(self, job_id: str, **values: object) -> None:
        table = self.table("workflow_status")
        self.write(sa.update(table).where(table.c.workflow_uuid == job_id).values(**values))

    def add(self, name: str, **values: object) -> None:
        self.write(sa.insert(self.table(name)).values(**values))


@pytest.fixture
def rows(url: str) -> Any:
    made = Engine(url)
    yield made
    made.engine.dispose()


def test_the_payload_is_real(tmp_path: Path) -> None:
    """Where nobody refuses, it runs: the other tests could fail."""
    proof = tmp_path / "executed"
    pickle.loads(base64.b64decode(packed(proof)))
    assert proof.exists()


def assert_refused(client: JobClient, job_id: str, proof: Path) -> None:
    """By every way of looking: one sentence, or a state that says so; nothing runs."""
    for look in (client.state, client.profile, client.measurement, client.sweep):
        try:
            look(job_id)
        except ProjectError as error:
            assert "\n" not in str(error)
    listed = [job for job in client.jobs() if job.job_id == job_id]
    assert len(listed) == 1
    assert len(client.queue().jobs) == 1
    assert not proof.exists(), "a pickled payload was executed"


@pytest.mark.parametrize("task", [MEASUREMENT, SWEEP])
@pytest.mark.parametrize("column", ["output", "error"])
def test_a_pickled_step_is_refused(
    client: JobClient, rows: Engine, tmp_path: Path, task: str, column: str
) -> None:
    """A bucket's or a run's row, and the error of one, is not decoded; the job stays listed."""
    proof, job_id = tmp_path / "executed", send(task, client)
    rows.status(job_id, status="PENDING")
    step = {"workflow_uuid": job_id, "function_id": 1, "function_name": STEPS[task]}
    rows.add("operation_outputs", **step, serialization=PICKLE, **{column: packed(proof)})
    if column == "output":
        with pytest.raises(ProjectError, match="expected, got str"):
            client.state(job_id)
        assert isinstance(client.jobs()[0], UnreadableJob)
    else:
        assert client.state(job_id).done == 0
    assert_refused(client, job_id, proof)


@pytest.mark.parametrize("column", ["output", "error"])
@pytest.mark.parametrize("task", [MEASUREMENT, SWEEP])
def test_a_pickled_end_is_refused(
    client: JobClient, rows: Engine, tmp_path: Path, task: str, column: str
) -> None:
    """What a workflow returned or failed with, in either of the engine's tables for it."""
    proof, job_id = tmp_path / "executed", send(task, client)
    status = {"output": "SUCCESS", "error": "ERROR"}[column]
    rows.status(job_id, status=status, serialization=PICKLE, **{column: packed(proof)})
    rows.add("workflow_output", workflow_uuid=job_id, **{column: packed(proof)})
    state = client.state(job_id)
    assert state.status is (JobStatus.DONE if column == "output" else JobStatus.FAILED)
    if column == "error":
        assert state.message.startswith("Failed: its reason is not in JSON; 0 of 40")
    assert_refused(client, job_id, proof)


@pytest.mark.parametrize("task", [MEASUREMENT, SWEEP])
@pytest.mark.parametrize("end", ["cancel", "delete"])
def test_a_pickled_input_is_refused(
    client: JobClient, rows: Engine, tmp_path: Path, task: str, end: str
) -> None:
    """What the job is about is read from our own table; the engine's copy is not decoded, and the
    job can be ended and deleted."""
    proof, job_id = tmp_path / "executed", send(task, client)
    rows.status(job_id, serialization=PICKLE, inputs=packed(proof))
    inputs = rows.table("workflow_input")
    rows.write(sa.delete(inputs))
    rows.add("workflow_input", workflow_uuid=job_id, inputs=packed(proof))
    assert_refused(client, job_id, proof)
    client.cancel(job_id)
    assert client.state(job_id).status is JobStatus.CANCELLED
    if end == "delete":
        client.delete(job_id)
        assert client.jobs() == []
    assert not proof.exists()


def test_events_and_streams_are_never_read(client: JobClient, rows: Engine, tmp_path: Path) -> None:
    """Rows of tables that we do not use do no harm."""
    proof, job_id = tmp_path / "executed", send(MEASUREMENT, client)
    common = {"workflow_uuid": job_id, "key": "rows", "value": packed(proof)}
    rows.add("workflow_events", **common, serialization=PICKLE)
    rows.add("streams", **common, offset=0, function_id=0, serialization=PICKLE)
    assert client.state(job_id).status is JobStatus.WAITING
    assert_refused(client, job_id, proof)
