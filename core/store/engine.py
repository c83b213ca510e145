"""The job engine's door: opened without pickle, its tables made, its states in our words.

Beside this file only core/store/job*.py and the workers know the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import exc

from core.errors import JobError
from core.store.database import checked_url
from core.store.migrate import migrate_tables
from core.store.states import JobStatus, WorkerInfo

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus

APPLICATION = "bucketwise"

GIVEN_UP = "MAX_RECOVERY_ATTEMPTS_EXCEEDED"


class PickleRefusedError(JobError):
    """A row in the database holds pickled Python; it is never decoded."""


def refuse_pickle() -> None:
    """Make the job engine refuse pickled rows in this process.

    The engine picks the decoder by the row's own column, whatever serializer was set: without
    this, whoever can write to the database could run code here.
    """
    from dbos import _serialization

    def refuse(_self: Any, _text: str) -> Any:
        raise PickleRefusedError("A pickled row was refused: jobs and rows are JSON only.")

    setattr(_serialization.DefaultSerializer, "deserialize", refuse)  # noqa: B010


def engine_url(url: str) -> str:
    """The URL as the job engine wants it, password included."""
    return checked_url(url).render_as_string(hide_password=False)


def migrate(url: str) -> None:
    """Create or update all tables; harmless to repeat.

    Raises SettingError (a URL of another kind, or a database that a newer version has written) or
    JobError (the database cannot be reached).
    """
    refuse_pickle()
    from dbos import DBOS

    parsed = checked_url(url)
    try:
        DBOS.migrate(engine_url(url))
        migrate_tables(url)
    except (exc.SQLAlchemyError, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise JobError(
            f"Database {parsed.render_as_string()} cannot be opened: {reason}. "
            "Check the address and that it may be written to."
        ) from error


@contextmanager
def database_answers() -> Iterator[None]:
    """For a call that asks the job database, also as a decorator. Raises JobError, a sentence,
    where it is away; then nothing was written, or what was is whole."""
    try:
        yield
    except exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise JobError(f"The job database did not answer: {reason}. Try again.") from error


def engine_client(url: str) -> DBOSClient:
    """A client that sends and looks; it runs nothing."""
    refuse_pickle()
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    return DBOSClient(
        system_database_url=engine_url(url),
        serializer=DBOSPortableJSONSerializer(),
        application_name=APPLICATION,
        retry_connection_errors=False,
    )


def status_of(
    row: WorkflowStatus | None, by_user: bool, workers: Sequence[WorkerInfo]
) -> JobStatus:
    """The engine's state in our words. by_user : whether the user asked for a cancel."""
    if row is None:
        return JobStatus.FAILED
    if row.status in ("ENQUEUED", "DELAYED"):
        return JobStatus.WAITING
    if row.status == "SUCCESS":
        return JobStatus.DONE
    if row.status == "CANCELLED":
        return JobStatus.CANCELLED if by_user else JobStatus.TIMED_OUT
    if row.status == "PENDING":
        alive = any(w.alive and w.executor_id == row.executor_id for w in workers)
        return JobStatus.RUNNING if alive else JobStatus.LOST
    return JobStatus.FAILED


def error_of(client: DBOSClient, job_id: str) -> str:
    """Why a failed job failed, in one sentence."""
    found = client.list_workflows(workflow_ids=[job_id], load_input=False)
    if not found:
        return "the job engine has no record of it"
    if found[0].status == GIVEN_UP:
        return "its workers died again and again, and it was given up"
    error = found[0].error
    if error is None:
        return "it ended without a reason"
    # What the engine could not decode, refused pickle above all, it hands on as it is in the row.
    return str(error) if isinstance(error, Exception) else "its reason is not in JSON"
