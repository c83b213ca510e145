"""What goes with time, and what never does. On SQLite and Postgres."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa

from core.errors import JobError, SettingError
from core.records import MeasureSpec
from core.records.session import TuningSession
from core.store.__main__ import main
from core.store.database import JOBS, make_engine
from core.store.jobs import JobClient
from core.store.prune import DAY_S, Pruned, Retention, prune
from core.store.sessions import Role, SessionStore
from core.store.tables import BLOBS, PEOPLE, VERSIONS, WORKERS
from core.store.workloads import stored_form, workload_digest
from tests.core.store.session_cases import DOCUMENT, READING, same

NOTHING = Pruned(0, 0, 0, 0, 0, 0)


def _age(url: str, table: sa.Table, column: str, days: float) -> None:
    engine = make_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.update(table).values({column: table.c[column] - days * DAY_S}))
    engine.dispose()


def _age_ends(url: str, days: float) -> None:
    """The engine's own account of when jobs ended."""
    engine = make_engine(url)
    schema = "dbos." if engine.dialect.name == "postgresql" else ""
    change = f"UPDATE {schema}workflow_status SET completed_at = completed_at - :ms"
    with engine.begin() as connection:
        connection.execute(sa.text(change), {"ms": int(days * DAY_S * 1000)})
    engine.dispose()


def test_finished_jobs_go_after_their_time(
    url: str, client: JobClient, store: SessionStore, report: Callable[..., None]
) -> None:
    """So long after their end. Neither a waiting job, nor a young one, nor one that a session names
    goes."""
    spec = MeasureSpec((1, 2))
    ended, waiting, named = (client.submit(spec) for _ in range(3))
    for job_id in (ended, named):
        client.cancel(job_id)
    session_id = store.create("ana", TuningSession("Named", jobs=(named,)))
    report("silent", "measure.cpu")
    assert prune(url) == NOTHING
    _age(url, JOBS, "submitted_at", 31)
    assert prune(url) == NOTHING
    _age_ends(url, 29)
    assert prune(url) == NOTHING
    _age_ends(url, 2)
    _age(url, WORKERS, "seen_at", 8)
    young = client.submit(spec)
    client.cancel(young)
    assert prune(url) == Pruned(1, 0, 1, 0, 0, 0)
    assert {job.job_id for job in client.jobs()} == {waiting, named, young}
    with pytest.raises(JobError, match="no job"):
        JobClient(url).state(ended)
    store.delete(session_id, "ana")
    assert prune(url).jobs == 1


def test_a_job_that_cannot_be_read_is_kept_and_counted(url: str, client: JobClient) -> None:
    """It stops nothing, and nobody can tell that it has ended."""
    client.cancel(client.submit(MeasureSpec((1,))))
    _age(url, JOBS, "submitted_at", 31)
    engine = make_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.update(JOBS).values(spec='{"sizes": "all"}'))
    engine.dispose()
    assert prune(url) == Pruned(0, 1, 0, 0, 0, 0)


def test_old_versions_go_and_the_newest_stay(url: str, store: SessionStore) -> None:
    """Old and beyond the number: both must hold. What only they named goes with them."""
    session_id = store.create("ana", DOCUMENT, READING)
    bare = replace(DOCUMENT, workload=None, profiles={})
    for version in range(1, 7):
        store.save(session_id, replace(bare, notes=str(version)), version, "ana")
    keep = Retention(versions=3, version_days=30, grace_s=0)
    assert prune(url, keep) == NOTHING
    _age(url, VERSIONS, "saved_at", 31)
    _age(url, BLOBS, "touched_at", 1)
    assert prune(url, replace(keep, versions=7)) == NOTHING
    assert prune(url, keep) == Pruned(0, 0, 0, 4, 2, 0)
    assert [entry.version for entry in store.history(session_id, "ana")] == [7, 6, 5]
    assert store.load(session_id, "ana").document.notes == "6"
    assert prune(url, keep) == NOTHING


def test_content_that_is_named_stays(url: str, store: SessionStore) -> None:
    """A fork keeps the traffic of the session it came from, after that is deleted and pruned."""
    first = store.create("ana", DOCUMENT, READING)
    copy = store.fork(first, "ana")
    store.delete(first, "ana")
    _age(url, BLOBS, "touched_at", 1)
    assert prune(url) == NOTHING
    assert same(store.load_workload(copy, "ana"), stored_form(READING))
    store.delete(copy, "ana")
    assert prune(url).blobs == 2


def test_fresh_content_is_left_for_a_save_under_way(url: str, store: SessionStore) -> None:
    """Only after the grace does content go that nobody names."""
    store.delete(store.create("ana", DOCUMENT, READING), "ana")
    assert prune(url).blobs == 0
    session_id = store.create("ana", DOCUMENT, READING)
    assert prune(url, Retention(grace_s=0)).blobs == 0
    digest = workload_digest(READING)
    assert same(store.load_workload(session_id, "ana", digest), stored_form(READING))


def test_the_conflict_of_a_pruned_base(url: str, store: SessionStore) -> None:
    """A writer whose base is gone is still told what differs, and loses nothing."""
    from core.store.sessions import SessionConflict

    session_id = store.create("ana", DOCUMENT, READING)
    for version in (1, 2):
        store.save(session_id, replace(DOCUMENT, notes=str(version)), version, "ana")
    _age(url, VERSIONS, "saved_at", 31)
    assert prune(url, Retention(versions=1)).versions == 2
    mine = replace(DOCUMENT, name="Mine")
    with pytest.raises(SessionConflict) as caught:
        store.save(session_id, mine, 1, "ana")
    assert caught.value.base is None
    assert [change.field for change in caught.value.their_changes] == ["name", "notes"]
    assert caught.value.merged().session == mine
    assert caught.value.merged(prefer_mine=False).session == caught.value.theirs
    assert store.undo(session_id, "ana") is None


def test_the_command(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m core.store prune` says what it deleted; nonsense is one sentence."""
    assert main(["prune", "--url", url, "--job-days", "3"]) == 0
    assert "Deleted 0 finished jobs, 0 silent workers" in capsys.readouterr().out
    assert main(["prune", "--url", url, "--versions", "0"]) == 2
    assert "versions is 0" in capsys.readouterr().err
    assert main(["prune", "--url", url, "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    with pytest.raises(SettingError, match="job_days is -1"):
        Retention(job_days=-1)
    with pytest.raises(SettingError, match="job_days is nan"):
        Retention(job_days=float("nan"))


def test_the_environment_says_what_is_kept(
    url: str, client: JobClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """BUCKETWISE_JOB_DAYS holds for `prune` without an option; an option goes before it; "inf"
    keeps for good; what is no number is a sentence, and no matter for `migrate`."""
    client.cancel(client.submit(MeasureSpec((1,))))
    _age(url, JOBS, "submitted_at", 9)
    _age_ends(url, 9)
    monkeypatch.setenv("BUCKETWISE_JOB_DAYS", "inf")
    assert main(["prune", "--url", url]) == 0 and len(client.jobs()) == 1
    monkeypatch.setenv("BUCKETWISE_JOB_DAYS", "soon")
    assert main(["prune", "--url", url]) == 2
    assert "BUCKETWISE_JOB_DAYS is 'soon'; a number is expected." in capsys.readouterr().err
    assert main(["migrate", "--url", url]) == 0
    monkeypatch.setenv("BUCKETWISE_JOB_DAYS", "8")
    assert main(["prune", "--url", url, "--job-days", "10"]) == 0 and len(client.jobs()) == 1
    assert main(["prune", "--url", url, "--quiet"]) == 0
    assert capsys.readouterr().out.endswith("kept 0 old jobs that cannot be read.\n")
    assert client.jobs() == []


def test_names_of_people_without_a_part_go(url: str, store: SessionStore) -> None:
    """After a week; who owns, wrote, commented or just came stays known."""
    session_id = store.create("ana")
    key = store.share(session_id, "ana", Role.EDITOR)
    for who in ("writer", "author"):
        store.open_link(key, who)
    store.save(session_id, DOCUMENT, 1, "writer", READING)
    store.comment(session_id, "author", "Why?")
    for who in ("writer", "author"):
        store.remove_member(session_id, who, "ana")
    for who in ("ana", "writer", "author", "passer-by"):
        store.introduce(who, f"{who}@example.org")
    _age(url, PEOPLE, "seen_at", 6)
    assert prune(url) == NOTHING
    _age(url, PEOPLE, "seen_at", 2)
    assert prune(url) == Pruned(0, 0, 0, 0, 0, 1)
    assert store.names_known_to("passer-by") == {}
    assert set(store.names_known_to("ana")) == {"ana", "writer", "author"}
