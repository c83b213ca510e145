"""What the owner takes back no link gives again, also at the same moment. On both databases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from core.errors import SessionAccessError
from core.store import session_links as links
from core.store.database import make_engine
from core.store.session_states import Member
from core.store.sessions import Role, SessionStore

ANA = Member("ana", Role.OWNER)


@pytest.fixture
def session_id(store: SessionStore) -> str:
    return store.create("ana")


@pytest.fixture
def other(url: str) -> Iterator[sa.Engine]:
    engine = make_engine(url)
    yield engine
    engine.dispose()


def test_a_viewer_stays_one(store: SessionStore, session_id: str) -> None:
    """Made a viewer, the editors' link gives no more; made an editor again, it does."""
    key = store.share(session_id, "ana", Role.EDITOR)
    store.open_link(key, "ben")
    store.set_role(session_id, "ben", Role.VIEWER, "ana")
    assert store.open_link(key, "ben") == (session_id, Role.VIEWER)
    store.remove_member(session_id, "ben", "ben")
    assert store.open_link(key, "ben") == (session_id, Role.VIEWER)
    assert store.open_link(key, "eve") == (session_id, Role.EDITOR)
    store.set_role(session_id, "ben", Role.EDITOR, "ana")
    store.remove_member(session_id, "ben", "ben")
    assert store.open_link(key, "ben") == (session_id, Role.EDITOR)


def test_who_was_removed_stays_out(store: SessionStore, session_id: str) -> None:
    """No link made before lets them in; others it does, and a new link does."""
    keys = [store.share(session_id, "ana", role) for role in (Role.VIEWER, Role.EDITOR)]
    store.open_link(keys[1], "ben")
    store.remove_member(session_id, "ben", "ana")
    for key in keys:
        with pytest.raises(SessionAccessError, match="took you out"):
            store.open_link(key, "ben")
    assert store.list_for("ben") == []
    assert store.open_link(keys[0], "eve") == (session_id, Role.VIEWER)
    store.unshare(session_id, "ana", Role.EDITOR)
    new = store.share(session_id, "ana", Role.EDITOR)
    assert store.open_link(new, "ben") == (session_id, Role.EDITOR)
    assert store.open_link(keys[0], "ben") == (session_id, Role.EDITOR)


@contextmanager
def meanwhile(call: Callable[[], object]) -> Iterator[None]:
    """The call starts now and has ended afterwards, whether or not it had to wait for the body."""
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
        except SessionAccessError as error:
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.3)
    yield
    thread.join()
    assert len(ended) == 1


@pytest.mark.parametrize("taken", ["withdrawn", "removed"])
def test_a_link_opened_while_it_is_taken_back_gives_nothing(
    store: SessionStore, session_id: str, other: sa.Engine, taken: str
) -> None:
    """The owner's change is written but not yet kept when the link is opened."""
    key = store.share(session_id, "ana", Role.EDITOR)
    connection = other.connect()
    if taken == "withdrawn":
        links.unshare(connection, session_id, Role.EDITOR)
    else:
        links.limit_links(connection, session_id, "ben", None)
        links.remove_member(connection, session_id, "ben")
    with meanwhile(lambda: store.open_link(key, "ben")):
        connection.commit()
    connection.close()
    assert store.members(session_id, "ana") == [ANA]


@pytest.mark.parametrize("taken", ["withdrawn", "removed"])
def test_a_link_taken_back_while_it_is_opened_gives_nothing(
    store: SessionStore, session_id: str, other: sa.Engine, taken: str
) -> None:
    """The other way round: the opener is written but not yet kept when the owner acts."""
    key = store.share(session_id, "ana", Role.EDITOR)
    connection = other.connect()
    links.open_link(connection, key, "ben")
    if taken == "withdrawn":
        act = lambda: store.unshare(session_id, "ana", Role.EDITOR)  # noqa: E731
    else:
        act = lambda: store.remove_member(session_id, "ben", "ana")  # noqa: E731
    with meanwhile(act):
        connection.commit()
    connection.close()
    assert store.members(session_id, "ana") == [ANA]
