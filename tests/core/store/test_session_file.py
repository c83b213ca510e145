"""One session as one file: the same numbers elsewhere, and nothing else is let in."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ProjectError, RecordError, SessionAccessError
from core.records.session import TuningSession, WorkloadRef
from core.store import session_file
from core.store.migrate import migrate_tables
from core.store.session_file import file_name, session_from_file, session_to_file
from core.store.sessions import Role, SessionStore
from core.store.workloads import stored_form, workload_digest
from tests.core.store.session_cases import (
    DOCUMENT,
    READING,
    documents,
    readings,
    same,
    spots,
)


@settings(max_examples=30)
@given(documents(), readings())
def test_files_survive(document: TuningSession, reading: Any) -> None:
    """Document and traffic come back exactly; only the ids of jobs stay behind."""
    named = replace(document, workload=WorkloadRef("traffic", workload_digest(reading)))
    back, traffic = session_from_file(session_to_file(named, reading))
    assert back == replace(named, jobs=())
    assert same(traffic, stored_form(reading))


def test_another_installation_has_the_same_numbers(store: SessionStore, tmp_path: Path) -> None:
    """Exported here and opened there, document, traffic and its name are the same."""
    name, data = store.export_file(store.create("ana", DOCUMENT, READING), "ana")
    assert name == "Chat-H200.bucketwise.json"
    url = f"sqlite:///{tmp_path / 'elsewhere.sqlite'}"
    migrate_tables(url)
    there = SessionStore(url)
    session_id = there.import_file(data, "zoe", name)
    loaded = there.load(session_id, "zoe")
    assert loaded.document == replace(DOCUMENT, jobs=()) and loaded.role is Role.OWNER
    assert same(there.load_workload(session_id, "zoe"), stored_form(READING))
    assert there.history(session_id, "zoe")[0].action == "imported"
    assert there.export_file(session_id, "zoe")[1] == data
    there.close()


def test_a_session_without_traffic(store: SessionStore) -> None:
    """It is a file too, and needs a role to be had."""
    session_id = store.create("ana", TuningSession("Empty"))
    document, reading = session_from_file(store.export_file(session_id, "ana")[1])
    assert (document, reading) == (TuningSession("Empty"), None)
    with pytest.raises(SessionAccessError):
        store.export_file(session_id, "ben")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/passwd", "etc-passwd.bucketwise.json"),
        ("C:\\x:y|z", "C-x-y-z.bucketwise.json"),
        ("日本", "session.bucketwise.json"),
        ("a" * 200, "a" * 60 + ".bucketwise.json"),
    ],
)
def test_file_names_are_safe(name: str, expected: str) -> None:
    """No name leads out of a folder or cannot be a file's."""
    assert file_name(TuningSession(name)) == expected


FILE: dict[str, Any] = json.loads(session_to_file(DOCUMENT, READING))


@given(
    st.sampled_from(spots(FILE)),
    st.sampled_from(["delete", None, True, -1, 2, 1.5, "", "AAAA", "../x", [], {}, [{}]]),
)
def test_a_forged_file_is_refused_or_whole(spot: tuple[Any, ...], value: Any) -> None:
    """Whatever stands in a field, it is read as it stands or refused with a sentence."""
    forged = copy.deepcopy(FILE)
    inner = forged
    for key in spot[:-1]:
        inner = inner[key]
    if value == "delete":
        del inner[spot[-1]]
    else:
        inner[spot[-1]] = value
    try:
        document, reading = session_from_file(json.dumps(forged).encode(), "forged")
    except ProjectError as error:
        assert str(error)
    else:
        back = session_from_file(session_to_file(document, reading))
        assert back[0] == document and same(back[1], reading)


def _with(**values: Any) -> bytes:
    return json.dumps({**FILE, **values}).encode()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is not valid JSON"),
        (b"\x80\x04cos\nsystem\n.", "is not valid JSON"),
        (b"[" * 1_000_000, "is not valid JSON"),
        (b"[]", "no session file"),
        (b'{"kind": "other"}', "no session file"),
        (_with(format=2), "format 2, this version reads 1; update"),
        (_with(format=True), "format True"),
        (_with(extra=1), "'extra' is unknown"),
        (_with(workload=None), "traffic given with it is none"),
        (_with(session={**FILE["session"], "workload": None}), "names workload none"),
    ],
)
def test_what_is_no_session_file(data: bytes, sentence: str) -> None:
    """Each is refused with one sentence."""
    with pytest.raises(RecordError, match=sentence):
        session_from_file(data, "upload.json")


def test_an_oversize_file_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size is looked at first."""
    monkeypatch.setattr(session_file, "MAX_FILE_BYTES", 1 << 20)
    with pytest.raises(RecordError, match="has 2 MiB; a session file has 1 at most"):
        session_from_file(b"[" * (2 << 20), "big.json")


def test_ids_of_jobs_are_not_let_in() -> None:
    """A file cannot attach another user's job to a session."""
    forged = {**FILE, "session": {**FILE["session"], "jobs": ["0f" * 16]}}
    assert session_from_file(json.dumps(forged).encode())[0].jobs == ()
