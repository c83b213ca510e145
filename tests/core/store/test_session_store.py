"""Sessions kept in a database: saved, loaded, told of conflicts, undone. On SQLite and Postgres."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.errors import ConflictError, RecordError, SessionAccessError, SessionError
from core.records import BucketSet
from core.records.session import TuningSession, WorkloadRef
from core.store.database import make_engine
from core.store.sessions import Role, SessionConflict, SessionStore
from core.store.tables import BLOBS, VERSIONS
from core.store.workloads import stored_form, workload_digest
from tests.core.store.session_cases import DOCUMENT, READING, same


def with_setting(document: TuningSession, **values: object) -> TuningSession:
    return replace(document, settings={**document.settings, **values})


def test_a_session_comes_back_whole(store: SessionStore) -> None:
    """Document and traffic are the same after a restart of the store."""
    session_id = store.create("ana", DOCUMENT, READING)
    again = SessionStore(store.url)
    loaded = again.load(session_id, "ana")
    assert loaded.document == DOCUMENT and loaded.version == 1
    assert same(again.load_workload(session_id, "ana"), stored_form(READING))
    assert loaded.info.owner == loaded.info.saved_by == "ana"
    again.close()


def test_ids_cannot_be_guessed(store: SessionStore) -> None:
    """22 characters of 6 bits carry the 128 random bits; no two are alike."""
    ids = {store.create("ana") for _ in range(20)}
    assert len(ids) == 20 and {len(session_id) for session_id in ids} == {22}


def test_a_save_adds_a_version_and_says_what_changed(store: SessionStore) -> None:
    """The history holds one line a changed field, the newest version first."""
    session_id = store.create("ana", DOCUMENT, READING)
    assert store.save(session_id, with_setting(DOCUMENT, best_k=8), 1, "ana") == 2
    newest, first = store.history(session_id, "ana")
    assert (newest.version, newest.action, newest.saved_by) == (2, "saved", "ana")
    assert newest.changes == ("settings.best_k: 16 -> 8",)
    assert (first.version, first.action, first.based_on) == (1, "created", None)
    assert newest.saved_at >= first.saved_at
    assert store.head(session_id, "ana").version == 2


def test_saving_the_same_again_adds_nothing(store: SessionStore) -> None:
    """A page may save on every run."""
    session_id = store.create("ana", DOCUMENT, READING)
    assert store.save(session_id, DOCUMENT, 1, "ana") == 1
    assert len(store.history(session_id, "ana")) == 1


def test_the_second_writer_is_told_what_changed(store: SessionStore) -> None:
    """Nothing is overwritten; both writers' changes are named, and can be joined and saved."""
    session_id = store.create("ana", DOCUMENT, READING)
    store.open_link(store.share(session_id, "ana", Role.EDITOR), "ben")
    bens = replace(
        with_setting(DOCUMENT, best_k=8), sets=(BucketSet("Mine", (1, 2), note="fewer"),)
    )
    assert store.save(session_id, bens, 1, "ben") == 2
    anas = replace(with_setting(DOCUMENT, best_k=32), notes="Two cards.")
    with pytest.raises(SessionConflict, match="ben saved version 2") as caught:
        store.save(session_id, anas, 1, "ana")
    conflict = caught.value
    assert isinstance(conflict, ConflictError)
    assert "settings.best_k: 16 -> 8; sets.Mine: 1, 2, 4, 8" in str(conflict)
    assert [change.field for change in conflict.my_changes] == ["notes", "settings.best_k"]
    assert conflict.theirs == bens and conflict.base == DOCUMENT
    assert store.load(session_id, "ana").document == bens
    joined = conflict.merged()
    assert joined.clashes == ("settings.best_k",)
    assert store.save(session_id, joined.session, conflict.version, "ana") == 3
    merged = store.load(session_id, "ben").document
    assert merged.settings["best_k"] == 32 and merged.notes == "Two cards."
    assert merged.sets == bens.sets


def test_both_writing_the_same_is_no_conflict(store: SessionStore) -> None:
    """Two tabs that save one change agree."""
    session_id = store.create("ana", DOCUMENT, READING)
    changed = with_setting(DOCUMENT, best_k=8)
    assert store.save(session_id, changed, 1, "ana") == 2
    assert store.save(session_id, changed, 1, "ana") == 2


def test_going_back_to_the_stale_base_is_a_conflict_too(store: SessionStore) -> None:
    """An unchanged document saved from an old version does not undo the other's work."""
    session_id = store.create("ana", DOCUMENT, READING)
    store.save(session_id, with_setting(DOCUMENT, best_k=8), 1, "ana")
    with pytest.raises(SessionConflict):
        store.save(session_id, DOCUMENT, 1, "ana")
    assert store.load(session_id, "ana").document.settings["best_k"] == 8


def test_no_update_is_lost_among_many_writers(store: SessionStore) -> None:
    """Four threads that each add ten sets, joining at every conflict, leave forty sets."""
    session_id = store.create("ana", DOCUMENT, READING)
    failed: list[Exception] = []

    def write(number: int) -> None:
        try:
            loaded = store.load(session_id, "ana")
            document, version = loaded.document, loaded.version
            for i in range(10):
                mine = replace(
                    document, sets=(*document.sets, BucketSet(f"{number}-{i}", (1 + i,)))
                )
                while True:
                    try:
                        version = store.save(session_id, mine, version, "ana")
                        document = mine
                        break
                    except SessionConflict as conflict:
                        mine, version = conflict.merged().session, conflict.version
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    names = {item.name for item in store.load(session_id, "ana").document.sets}
    assert names == {"Mine"} | {f"{n}-{i}" for n in range(4) for i in range(10)}
    history = store.history(session_id, "ana")
    assert [entry.version for entry in history] == list(range(len(history), 0, -1))


def test_undo_goes_back_step_by_step(store: SessionStore) -> None:
    """Each undo takes one change back, also after a restore; nothing leaves the history."""
    session_id = store.create("ana", DOCUMENT, READING)
    for version, k in ((1, 8), (2, 4), (3, 2)):
        store.save(session_id, with_setting(DOCUMENT, best_k=k), version, "ana")

    def k() -> object:
        return store.load(session_id, "ana").document.settings["best_k"]

    assert store.undo(session_id, "ana") == 5 and k() == 4
    assert store.undo(session_id, "ana") == 6 and k() == 8
    assert store.undo(session_id, "ana") == 7 and k() == 16
    assert store.undo(session_id, "ana") is None and k() == 16
    assert store.restore(session_id, 4, "ana") == 8 and k() == 2
    assert store.history(session_id, "ana")[0].action == "restored"
    assert store.undo(session_id, "ana") == 9 and k() == 4
    assert store.load_version(session_id, 2, "ana").settings["best_k"] == 8
    with pytest.raises(SessionError, match="no version 99"):
        store.restore(session_id, 99, "ana")
    with pytest.raises(SessionError, match="no version 99"):
        store.load_version(session_id, 99, "ana")


def test_an_older_versions_traffic_stays(store: SessionStore) -> None:
    """After another upload the first one is still there for the history and for undo."""
    session_id = store.create("ana", DOCUMENT, READING)
    other = replace(READING, rows=3, dropped={}, dropped_examples={})
    newer = replace(DOCUMENT, workload=WorkloadRef("other.csv", workload_digest(other)))
    store.save(session_id, newer, 1, "ana", other)
    assert same(store.load_workload(session_id, "ana"), stored_form(other))
    old = workload_digest(READING)
    assert same(store.load_workload(session_id, "ana", old), stored_form(READING))
    store.undo(session_id, "ana")
    assert same(store.load_workload(session_id, "ana"), stored_form(READING))


def test_traffic_must_come_with_its_session(store: SessionStore) -> None:
    """Naming another session's traffic by its digest does not give it away."""
    store.create("ana", DOCUMENT, READING)
    with pytest.raises(RecordError, match="does not hold; give the reading"):
        store.create("mallory", DOCUMENT)
    own = store.create("mallory")
    with pytest.raises(RecordError, match="does not hold"):
        store.save(own, DOCUMENT, 1, "mallory")
    assert store.load(own, "mallory").version == 1
    with pytest.raises(SessionError, match="does not hold this traffic"):
        store.load_workload(own, "mallory", workload_digest(READING))
    with pytest.raises(SessionError, match="does not hold this traffic"):
        store.load_workload(own, "mallory")
    with pytest.raises(RecordError, match="the reading given with it"):
        store.create("mallory", TuningSession(), READING)


def test_content_is_kept_once(store: SessionStore) -> None:
    """Ten sessions with one traffic and one profile keep two pieces of content."""
    for _ in range(10):
        store.create("ana", DOCUMENT, READING)
    engine = make_engine(store.url)
    with engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(BLOBS)).scalar() == 2
    engine.dispose()


def test_lists_and_deletes(store: SessionStore) -> None:
    """The last saved comes first; a deleted session is gone with everything in it."""
    first, second = store.create("ana", DOCUMENT, READING), store.create("ana")
    store.save(first, replace(DOCUMENT, name="Renamed"), 1, "ana")
    assert [(s.session_id, s.name) for s in store.list_for("ana")] == [
        (first, "Renamed"),
        (second, "Untitled"),
    ]
    assert store.list_for("ben") == []
    store.comment(first, "ana", "Hello")
    store.share(first, "ana", Role.VIEWER)
    store.delete(first, "ana")
    assert [s.session_id for s in store.list_for("ana")] == [second]
    with pytest.raises(SessionAccessError):
        store.load(first, "ana")
    engine = make_engine(store.url)
    with engine.connect() as connection:
        left = connection.execute(sa.select(VERSIONS.c.session_id)).scalars().all()
    engine.dispose()
    assert left == [second]


def test_a_damaged_row_is_one_sentence(store: SessionStore) -> None:
    """What others write into the database is refused, pickle included, never obeyed."""
    session_id = store.create("ana", DOCUMENT, READING)
    engine = make_engine(store.url)
    for text in ("\\x80\\x04cos", "[]", '{"format": 9, "profiles": {}}', "{}"):
        with engine.begin() as connection:
            connection.execute(sa.update(VERSIONS).values(document=text))
        with pytest.raises((SessionError, RecordError)):
            store.load(session_id, "ana")
    with engine.begin() as connection:
        connection.execute(sa.update(BLOBS).values(data=b"\x80\x04cos\nsystem\n."))
    with pytest.raises(RecordError, match="not packed as expected"):
        store.load_workload(session_id, "ana", workload_digest(READING))
    engine.dispose()


def test_names_are_stored_as_text(store: SessionStore) -> None:
    """SQL, HTML and formulas in a name or a note are characters like any other."""
    odd = "'; DROP TABLE tuning_sessions; -- <script>alert(1)</script> =1+1 %s {x}"
    document = TuningSession(odd, sets=(BucketSet(odd, (1,), note=odd),), settings={odd: odd})
    session_id = store.create(odd, document)
    assert store.load(session_id, odd).document == document
    assert store.list_for(odd)[0].name == odd


def test_without_tables_the_way_out_is_named(empty_url: str) -> None:
    """The store never makes tables; it names the command that does."""
    with pytest.raises(SessionError, match="python -m core.store migrate"):
        SessionStore(empty_url)


def test_a_lost_database_is_one_sentence(tmp_path: Path) -> None:
    """No traceback: what happened, and that nothing was written."""
    with pytest.raises(SessionError, match="did not answer.*Nothing was written"):
        SessionStore(f"sqlite:///{tmp_path}/no/such/folder/a.sqlite")
