"""Which errors of a database mean that it cannot be reached, and may be asked again."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.engine import ExceptionContext


def wait_for_lost_databases() -> None:
    """Count every failed connect as a lost connection, in all engines of this process.

    The job engine waits for a lost database, but tells one by the words of the driver and misses
    "connection is bad", which a server that is just gone is answered with: the job's thread would
    end, and leave a job that counts as running and that nobody runs.
    """
    if not event.contains(sa.Engine, "handle_error", _mark):
        event.listen(sa.Engine, "handle_error", _mark)


def _mark(context: ExceptionContext) -> None:
    never_connected = context.connection is None
    if never_connected and isinstance(context.sqlalchemy_exception, exc.OperationalError):
        context.is_disconnect = True
