"""Who may do what with a session. On SQLite and Postgres."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace

import pytest

from core.errors import RecordError, SessionAccessError
from core.records.session import TuningSession
from core.store.session_states import Member
from core.store.sessions import Role, SessionConflict, SessionStore
from core.store.workloads import stored_form
from tests.core.store.session_cases import DOCUMENT, READING, same

CHANGED = replace(DOCUMENT, notes="Changed.")
Call = Callable[[SessionStore, str, str], object]
LOOKING: dict[str, Call] = {
    "load": lambda s, i, w: s.load(i, w),
    "head": lambda s, i, w: s.head(i, w),
    "load_workload": lambda s, i, w: s.load_workload(i, w),
    "history": lambda s, i, w: s.history(i, w),
    "load_version": lambda s, i, w: s.load_version(i, 1, w),
    "members": lambda s, i, w: s.members(i, w),
    "comments": lambda s, i, w: s.comments(i, w),
    "fork": lambda s, i, w: s.fork(i, w),
    "export_file": lambda s, i, w: s.export_file(i, w),
}
CHANGING: dict[str, Call] = {
    "save": lambda s, i, w: s.save(i, CHANGED, 1, w),
    "save unchanged": lambda s, i, w: s.save(i, DOCUMENT, 1, w),
    "restore": lambda s, i, w: s.restore(i, 1, w),
    "undo": lambda s, i, w: s.undo(i, w),
    "comment": lambda s, i, w: s.comment(i, w, "Hello"),
    "delete_comment": lambda s, i, w: s.delete_comment(i, 1, w),
}
OWNING: dict[str, Call] = {
    "share": lambda s, i, w: s.share(i, w, Role.VIEWER),
    "unshare": lambda s, i, w: s.unshare(i, w, Role.VIEWER),
    "remove_member": lambda s, i, w: s.remove_member(i, "ana", w),
    "links": lambda s, i, w: s.links(i, w),
    "set_role": lambda s, i, w: s.set_role(i, "viewer", Role.EDITOR, w),
    "delete": lambda s, i, w: s.delete(i, w),
}
ALL = LOOKING | CHANGING | OWNING


@pytest.fixture
def shared(store: SessionStore) -> str:
    """Ana's session with an editor, a viewer and one comment."""
    session_id = store.create("ana", DOCUMENT, READING)
    store.open_link(store.share(session_id, "ana", Role.EDITOR), "editor")
    store.open_link(store.share(session_id, "ana", Role.VIEWER), "viewer")
    store.comment(session_id, "ana", "Why 16?")
    return session_id


def test_no_call_is_left_out() -> None:
    """Every call of the store that names a session is tried without the role it needs."""
    names = {
        name
        for name, call in inspect.getmembers(SessionStore, inspect.isfunction)
        if not name.startswith("_") and "session_id" in inspect.signature(call).parameters
    }
    assert names == {name.split()[0] for name in ALL}


def _state(store: SessionStore, session_id: str) -> object:
    info = store.load(session_id, "ana")
    return info, store.comments(session_id, "ana"), store.members(session_id, "ana")


def test_a_viewer_looks_and_cannot_change(store: SessionStore, shared: str) -> None:
    """Everything that reads is allowed, everything that writes refused, and nothing is written."""
    for call in LOOKING.values():
        call(store, shared, "viewer")
    before = _state(store, shared)
    for name, call in (CHANGING | OWNING).items():
        with pytest.raises(SessionAccessError, match="You are a viewer"):
            call(store, shared, "viewer")
            pytest.fail(f"a viewer may {name}")
    assert _state(store, shared) == before


def test_a_stranger_learns_nothing(store: SessionStore, shared: str) -> None:
    """With the id but no role every call is refused, with the sentence for an id that is not."""
    before = _state(store, shared)
    for name, call in ALL.items():
        said = set()
        for session_id in (shared, "x" * 22):
            with pytest.raises(SessionAccessError, match="no such session, or it is not") as caught:
                call(store, session_id, "stranger")
                pytest.fail(f"a stranger may {name}")
            said.add(str(caught.value))
        assert len(said) == 1
    assert _state(store, shared) == before and store.list_for("stranger") == []


def test_an_editor_changes_but_does_not_own(store: SessionStore, shared: str) -> None:
    """An editor saves, restores and comments; sharing and deleting stay with the owner."""
    assert store.save(shared, CHANGED, 1, "editor") == 2
    assert store.restore(shared, 1, "editor") == 3
    number = store.comment(shared, "editor", "Because of memory.")
    store.delete_comment(shared, number, "editor")
    for name, call in OWNING.items():
        with pytest.raises(SessionAccessError, match="You are an editor"):
            call(store, shared, "editor")
            pytest.fail(f"an editor may {name}")


def test_links_are_apart_and_can_be_withdrawn(store: SessionStore, shared: str) -> None:
    """A link gives its own role; withdrawn, it and who came by it are out; a new one differs."""
    viewer, editor = (store.share(shared, "ana", role) for role in (Role.VIEWER, Role.EDITOR))
    assert len({viewer, editor, shared}) == 3 and len(viewer) == len(editor) == 22
    assert store.share(shared, "ana", Role.VIEWER) == viewer
    assert store.open_link(viewer, "new") == (shared, Role.VIEWER)
    assert store.open_link(editor, "new") == (shared, Role.EDITOR)
    assert store.open_link(viewer, "new") == (shared, Role.EDITOR)
    assert store.open_link(viewer, "ana") == (shared, Role.OWNER)
    store.unshare(shared, "ana", Role.VIEWER)
    with pytest.raises(SessionAccessError, match="leads to no session"):
        store.open_link(viewer, "late")
    with pytest.raises(SessionAccessError):
        store.load(shared, "viewer")
    assert store.load(shared, "editor").role is Role.EDITOR
    assert store.share(shared, "ana", Role.VIEWER) != viewer
    for call in (store.share, store.unshare):
        with pytest.raises(RecordError, match="one owner"):
            call(shared, "ana", Role.OWNER)


def test_the_sessions_id_is_no_link(store: SessionStore, shared: str) -> None:
    """Who sees the id in an address bar cannot make a role of it."""
    with pytest.raises(SessionAccessError, match="leads to no session"):
        store.open_link(shared, "stranger")


def test_members(store: SessionStore, shared: str) -> None:
    """The owner comes first and stays; others leave by themselves or are taken out."""
    assert store.members(shared, "viewer") == [
        Member("ana", Role.OWNER),
        Member("editor", Role.EDITOR),
        Member("viewer", Role.VIEWER),
    ]
    store.remove_member(shared, "viewer", "viewer")
    store.remove_member(shared, "editor", "ana")
    store.remove_member(shared, "ana", "ana")
    assert store.members(shared, "ana") == [Member("ana", Role.OWNER)]


def test_links_are_listed_until_withdrawn(store: SessionStore, shared: str) -> None:
    """The owner sees each working link with its role, viewers' first."""
    tokens = {role: store.share(shared, "ana", role) for role in (Role.EDITOR, Role.VIEWER)}
    found = store.links(shared, "ana")
    assert [(link.role, link.token) for link in found] == [
        (role, tokens[role]) for role in (Role.VIEWER, Role.EDITOR)
    ]
    assert all(link.created_at > 1.7e9 for link in found)
    store.unshare(shared, "ana", Role.VIEWER)
    assert [link.role for link in store.links(shared, "ana")] == [Role.EDITOR]


def test_the_owner_changes_roles(store: SessionStore, shared: str) -> None:
    """A viewer made an editor may save, an editor made a viewer may not; the owner stays one."""
    store.set_role(shared, "viewer", Role.EDITOR, "ana")
    store.set_role(shared, "editor", Role.VIEWER, "ana")
    assert store.save(shared, CHANGED, 1, "viewer") == 2
    with pytest.raises(SessionAccessError, match="You are a viewer"):
        store.save(shared, DOCUMENT, 2, "editor")
    for member in ("ana", "stranger"):
        with pytest.raises(SessionAccessError, match="no such viewer or editor"):
            store.set_role(shared, member, Role.VIEWER, "ana")
    with pytest.raises(RecordError, match="one owner"):
        store.set_role(shared, "viewer", Role.OWNER, "ana")
    assert store.load(shared, "ana").role is Role.OWNER


def test_names_are_known_to_those_who_share(store: SessionStore, shared: str) -> None:
    """A name told at log-in shows to people of the same session, also after its bearer left."""
    for who in ("ana", "editor", "stranger"):
        store.introduce(who, f"{who}@example.org")
    store.comment(shared, "editor", "Because of memory.")
    store.remove_member(shared, "editor", "ana")
    known = {"ana": "ana@example.org", "editor": "editor@example.org"}
    assert store.names_known_to("viewer") == known
    assert store.names_known_to("stranger") == {"stranger": "stranger@example.org"}
    store.introduce("ana", "Ana")
    assert store.names_known_to("ana")["ana"] == "Ana"
    for bad in ("", "two\nlines", "\x1b[2J", "x" * 201):
        with pytest.raises(RecordError):
            store.introduce("ana", bad)


def test_a_conflict_names_the_other_writer(store: SessionStore, shared: str) -> None:
    """The second writer reads the name, not what identifies the first."""
    store.introduce("editor", "Ed")
    store.save(shared, CHANGED, 1, "editor")
    with pytest.raises(SessionConflict, match="^Ed saved version 2") as caught:
        store.save(shared, replace(DOCUMENT, notes="Mine."), 1, "ana")
    assert caught.value.saved_by == "editor"


def test_the_thread(store: SessionStore, shared: str) -> None:
    """Comments stand in order with author and version; own ones can go, the owner removes any."""
    store.save(shared, CHANGED, 1, "ana")
    number = store.comment(shared, "editor", "Line one\nline <b>two</b>")
    first, second = store.comments(shared, "viewer")
    assert (first.author, first.version, first.body) == ("ana", 1, "Why 16?")
    assert (second.author, second.version) == ("editor", 2)
    assert second.body == "Line one\nline <b>two</b>" and second.written_at >= first.written_at
    with pytest.raises(SessionAccessError, match="no such comment of yours"):
        store.delete_comment(shared, first.comment_id, "editor")
    store.delete_comment(shared, number, "ana")
    assert [comment.body for comment in store.comments(shared, "ana")] == ["Why 16?"]
    for body, sentence in ((" \n", "is empty"), ("x" * 10_001, "10001"), ("\x1b[2J", "U\\+001B")):
        with pytest.raises(RecordError, match=sentence):
            store.comment(shared, "ana", body)


def test_a_fork_is_a_session_of_its_own(store: SessionStore, shared: str) -> None:
    """A viewer's copy has the same document and traffic; changing it leaves the first alone."""
    copy = store.fork(shared, "viewer")
    loaded = store.load(copy, "viewer")
    assert loaded.role is Role.OWNER and loaded.version == 1
    assert (loaded.info.forked_from, loaded.info.forked_version) == (shared, 1)
    assert loaded.document == replace(DOCUMENT, name="Chat, H200 (fork)")
    assert same(store.load_workload(copy, "viewer"), stored_form(READING))
    store.save(copy, TuningSession("Mine"), 1, "viewer")
    assert store.load(shared, "ana").document == DOCUMENT
    with pytest.raises(SessionAccessError):
        store.load(copy, "ana")
    store.delete(shared, "ana")
    store.restore(copy, 1, "viewer")
    assert same(store.load_workload(copy, "viewer"), stored_form(READING))
