"""The job that this worker runs: what it says it does, whether it must stop, how often it tried."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa
from dbos import DBOS
from sqlalchemy import exc

from core.errors import JobError
from core.store import job_table
from core.store.database import make_engine
from core.store.states import IDLE
from gpu_worker.session import SessionStoppedError

T = TypeVar("T")

MAX_TRIES = 3
"""A step that ended its worker or its measuring process so often is given up: two retries."""
MAX_DEATHS = 100
"""Deaths of workers over one job, whatever the step, before the engine gives it up."""
LOOK_EVERY_S = 0.25
RETRY_EVERY_S = 0.5


class StepStoppedError(Exception):
    """The job was cancelled, timed out, was taken over, or the worker shuts down."""


@dataclass
class Step:
    """A step in flight. tries : how often it was begun, this time included."""

    running: Running
    job_id: str
    name: str
    tries: int

    def try_again(self) -> bool:
        """Count one more try; False if there were enough."""
        if self.tries >= MAX_TRIES:
            return False
        self.tries = self.running.begin(self.job_id, self.name)
        return True


class Running:
    """One job at a time, for the whole process."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.doing = IDLE
        self.close: Callable[[], None] = lambda: None
        """What the workflow holds between steps, given back."""
        self._engine: sa.Engine | None = None
        self._executor_id = ""
        self._job_id: str | None = None

    def connect(self, url: str, executor_id: str) -> None:
        """Before the first job."""
        self._engine = make_engine(url)
        self._executor_id = executor_id

    @property
    def engine(self) -> sa.Engine:
        assert self._engine is not None, "connect() comes first"
        return self._engine

    def shut_down(self) -> None:
        """End what runs, in good order: the step in flight runs again, as if it had not begun."""
        self.stopping.set()
        # First, because closing waits for the measuring process, and the supervisor may not.
        if self._job_id is not None:
            try:
                with self.engine.begin() as connection:
                    job_table.take_back_try(connection, self._job_id)
            except exc.SQLAlchemyError:
                pass  # the database is away: one try fewer is no loss of work
        self.close()

    def must_stop(self, job_id: str) -> Callable[[], bool]:
        """Whether the job no longer is ours to run, asked at most four times a second."""
        asked, answer = 0.0, False

        def stop() -> bool:
            nonlocal asked, answer
            if self.stopping.is_set():
                return True
            if time.monotonic() - asked >= LOOK_EVERY_S:
                asked = time.monotonic()
                found = DBOS.get_workflow_status(job_id)
                # Cancelled, timed out, or handed to another worker after a false alarm.
                mine = ("PENDING", self._executor_id)
                answer = found is None or (found.status, found.executor_id) != mine
            return answer

        return stop

    @contextmanager
    def step(self, name: str, doing: str) -> Iterator[Step]:
        """Around a step of the current job. A stop becomes silence (shut-down) or an error.

        name : the same whenever this step of the job is tried
        """
        job_id = DBOS.workflow_id
        assert job_id is not None
        self.doing = doing
        try:
            tries = self.begin(job_id, name)
            self._job_id = job_id
            yield Step(self, job_id, name, tries)
        except Exception as error:
            if self.stopping.is_set():
                # Returning would record a step that never ended; the process is about to exit.
                threading.Event().wait()
            if isinstance(error, (StepStoppedError, SessionStoppedError)):
                raise JobError("The job was stopped in the middle of a step.") from None
            raise
        finally:
            self._job_id = None

    def begin(self, job_id: str, name: str) -> int:
        """Count a try."""
        return self.ask(lambda connection: job_table.begin_try(connection, job_id, name))

    def ask(self, question: Callable[[sa.Connection], T]) -> T:
        """What the database answers; a database that is away is waited for."""
        while not self.stopping.is_set():
            try:
                with self.engine.begin() as connection:
                    return question(connection)
            except (exc.OperationalError, exc.InterfaceError) as error:
                if not is_away(error, self.engine):
                    raise
                self.stopping.wait(RETRY_EVERY_S)
        raise StepStoppedError

    def end(self) -> None:
        """The job is over."""
        self.close()
        self.doing = IDLE


def is_away(error: exc.DBAPIError, engine: sa.Engine) -> bool:
    """Whether asking again may help; SQLite calls a table that is missing an operational error."""
    words = ("locked", "busy", "unable to open", "disk i/o")
    text = str(error.orig).lower()
    return engine.dialect.name != "sqlite" or any(word in text for word in words)


RUNNING = Running()
