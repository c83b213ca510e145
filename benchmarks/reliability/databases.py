"""The two databases, each with a way to kill it where it is a process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Protocol

from core.store.jobs import migrate
from tests.core.store.postgres import TestServer


class DatabaseMissing(RuntimeError):
    """This machine cannot start such a database; the text says why."""


class Database(Protocol):
    """A migrated database of its own."""

    url: str
    is_process: bool

    def kill(self) -> None:
        """kill -9 of the server, then a start from what it left."""
        ...

    def stop(self) -> None:
        """End it and remove its files."""
        ...


class SqliteFile:
    """A file: it has no process, so what is killed is whoever writes to it."""

    is_process = False

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bucketwise-reliability-")
        self.url = f"sqlite:///{Path(self._folder.name) / 'bucketwise.sqlite'}"
        migrate(self.url)

    def kill(self) -> None:
        raise AssertionError("a SQLite file is no process")

    def stop(self) -> None:
        self._folder.cleanup()


class PostgresServer:
    """A server of its own, durable as a team would run it."""

    is_process = True

    def __init__(self) -> None:
        """Raises DatabaseMissing if it cannot start."""
        self._server = TestServer(durable=True)
        if self._server.reason:
            raise DatabaseMissing(self._server.reason)
        self.url = self._server.fresh()

    def kill(self) -> None:
        self._server.kill()

    def stop(self) -> None:
        self._server.stop()


def start_database(kind: str) -> Database:
    """kind : "sqlite" or "postgres". Raises DatabaseMissing."""
    return {"sqlite": SqliteFile, "postgres": PostgresServer}[kind]()
