"""What whoever runs a team's database needs: workers listed, sessions handed over. On both."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.errors import SessionAccessError, SessionError
from core.store.__main__ import main
from core.store.hand_over import hand_over
from core.store.session_states import Member
from core.store.sessions import Role, SessionStore
from tests.core.store.session_cases import DOCUMENT, READING


def test_local_sessions_go_to_somebody_who_logs_in(store: SessionStore, url: str) -> None:
    """Every session of the local user is Ana's afterwards, with its history and its links, and
    nobody works as the local user any more."""
    ids = {store.create("local", DOCUMENT, READING) for _ in range(2)}
    key = store.share(min(ids), "local", Role.VIEWER)
    store.introduce("oidc:1", "ana@example.org")
    assert hand_over(url, "local", "ana@example.org") == 2
    assert {info.session_id for info in store.list_for("oidc:1")} == ids
    assert all(store.load(i, "oidc:1").role is Role.OWNER for i in ids)
    assert store.history(min(ids), "oidc:1")[0].saved_by == "local"
    assert store.open_link(key, "ben") == (min(ids), Role.VIEWER)
    with pytest.raises(SessionAccessError):
        store.load(min(ids), "local")


def test_a_session_keeps_one_owner(store: SessionStore, url: str) -> None:
    """Where the taker had a lesser part it gives way; where they are the owner they stay it, and
    the giver is out."""
    first = store.create("a")
    store.open_link(store.share(first, "a", Role.VIEWER), "b")
    second = store.create("b")
    store.open_link(store.share(second, "b", Role.EDITOR), "a")
    assert hand_over(url, "a", "b") == 2
    for session_id in (first, second):
        assert store.members(session_id, "b") == [Member("b", Role.OWNER)]


def test_the_higher_role_is_kept(store: SessionStore, url: str) -> None:
    """An editor who takes over a viewer's part stays an editor, and the other way round becomes
    one; a part that only the giver had comes as it was."""
    roles = (
        (Role.VIEWER, Role.EDITOR, Role.EDITOR),
        (Role.EDITOR, Role.VIEWER, Role.EDITOR),
        (Role.VIEWER, None, Role.VIEWER),
    )
    ids = [store.create("ana") for _ in roles]
    for session_id, (giver, taker, _) in zip(ids, roles, strict=True):
        for who, role in (("left", giver), ("ben", taker)):
            if role is not None:
                store.open_link(store.share(session_id, "ana", role), who)
    assert hand_over(url, "left", "ben") == 3
    assert [store.head(i, "ben").role for i in ids] == [after for *_, after in roles]
    assert store.list_for("left") == []


def test_a_name_that_somebody_chose_is_not_believed(store: SessionStore, url: str) -> None:
    """Whoever is shown as `local`, or as what identifies another, is not taken for them: before
    and after the other is known by a session."""
    theirs = store.create("oidc:mallory")
    store.introduce("oidc:mallory", "local")
    store.create("ana")
    with pytest.raises(SessionError, match="Nobody is known as local"):
        hand_over(url, "local", "ana")
    mine = store.create("local")
    assert hand_over(url, "local", "ana") == 1
    store.introduce("oidc:mallory", "ana")
    store.create("ben")
    assert hand_over(url, "ana", "ben") == 2
    assert {info.session_id for info in store.list_for("oidc:mallory")} == {theirs}
    assert store.load(mine, "ben").role is Role.OWNER


def test_names_that_are_nobodys_or_two_peoples(store: SessionStore, url: str) -> None:
    """Nothing moves on a guess."""
    session_id = store.create("a")
    for who in ("x", "y"):
        store.introduce(who, "Ana")
    for giver, taker, sentence in (
        ("a", "nobody@example.org", "Nobody is known as nobody"),
        ("nobody", "a", "Nobody is known as nobody"),
        ("a", "Ana", "the name of 2 people: x, y; give one of these"),
        ("a", "a", "same person"),
    ):
        with pytest.raises(SessionError, match=sentence):
            hand_over(url, giver, taker)
    assert store.load(session_id, "a").role is Role.OWNER


def test_the_commands(
    store: SessionStore, url: str, report: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """`workers` tells who listens and fails where nobody does; `hand-over` says what it did."""
    assert main(["workers", "--url", url]) == 1
    assert capsys.readouterr().out == "No worker listens.\n"
    report("gpu0", "measure.nvidia-h200")
    assert main(["workers", "--url", url, "--host", "host"]) == 0
    assert capsys.readouterr().out.startswith("gpu0 on measure.nvidia-h200: NVIDIA-H200, idle")
    assert main(["workers", "--url", url, "--host", "other"]) == 1
    store.create("local")
    store.introduce("oidc:1", "Ana")
    capsys.readouterr()
    assert main(["hand-over", "--url", url, "--from", "local", "--to", "Ana"]) == 0
    assert capsys.readouterr().out == "Ana has what local had in 1 sessions.\n"
    assert main(["hand-over", "--url", url, "--from", "local", "--to", "Ana"]) == 2
    assert "Nobody is known as local" in capsys.readouterr().err


def test_a_database_without_tables_is_one_sentence(
    empty_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the first migration nobody can be listed."""
    assert main(["workers", "--url", empty_url]) == 2
    assert capsys.readouterr().err.count("\n") == 1
