"""Sharing on the pages: a link gives its role and no more, also where nobody logs in."""

from __future__ import annotations

import pytest

from app.web import identity
from core.errors import SessionAccessError
from tests.app.apptest import PAGES, open_app, shown, table_row, texts, to_page
from tests.app.session_steps import in_address, kept_session, keys, labels, press, share

pytestmark = pytest.mark.usefixtures("own_database")

VIEW_ONLY = "View only: changes stay in this browser; fork to keep them."


def the_store():
    from app.sessions import current as sessions

    return sessions.store()


def test_a_viewer_plays_and_nothing_is_kept():
    """Behind a viewer's link every widget works in the browser, and the session stays as it was."""
    owner, session_id = kept_session()
    key = share(owner, "viewer")
    viewer = open_app("buckets.py", key=key)
    assert VIEW_ONLY in [i.value for i in viewer.info]
    viewer.multiselect(key="sets").set_value(["Best possible"])
    viewer.number_input(key="best_k").set_value(3).run()
    assert table_row(viewer, "bucket set", "Best possible, K=3")
    to_page(viewer, "sessions.py")
    assert "Best possible, K=3" not in texts(viewer)
    assert the_store().head(session_id, "local").version == 1
    again = open_app("buckets.py", key=key)
    assert again.number_input(key="best_k").value == 16


@pytest.mark.slow
def test_every_page_tells_a_viewer():
    """The sentence stands on every page, for whoever came by the viewer's link alone."""
    owner, _ = kept_session()
    viewer = open_app(key=share(owner, "viewer"))
    for page in PAGES:
        to_page(viewer, page)
        assert VIEW_ONLY in [i.value for i in viewer.info], page
    assert VIEW_ONLY not in texts(owner)


def test_a_viewer_finds_nothing_to_change_with():
    """No rename, undo, restore, comment, share, delete; looking, forking, exporting are there."""
    owner, _ = kept_session()
    viewer = open_app("sessions.py", key=share(owner, "viewer"))
    offered = set(labels(viewer))
    assert not offered & {"Save name and notes", "Undo the last save", "Add the comment"}
    assert not any(label.startswith(("Restore", "Make", "Withdraw", "Delete")) for label in offered)
    assert {"Fork: a copy of your own", "Leave"} <= offered
    assert keys(viewer) == [] and "you are viewer" in texts(viewer)
    assert viewer.get("download_button")
    assert table_row(viewer, "action", "created")["version"] == 1


def test_a_fork_keeps_what_a_viewer_changed():
    """The viewer's copy holds what they chose, is theirs, and leaves the first session alone."""
    owner, session_id = kept_session()
    key = share(owner, "viewer")
    viewer = open_app("buckets.py", key=key)
    viewer.number_input(key="best_k").set_value(3).run()
    press(viewer, "Fork")
    assert VIEW_ONLY not in [i.value for i in viewer.info]
    assert viewer.number_input(key="best_k").value == 3
    copy = in_address(viewer, "session")
    assert copy != session_id
    viewer.number_input(key="best_k").set_value(5).run()
    # The address, as it stands in the guest's bar, opens the copy again with its last change.
    again = open_app("buckets.py", key=key, session=copy)
    assert again.number_input(key="best_k").value == 5 and VIEW_ONLY not in texts(again)
    assert "batches.csv" in shown(texts(again))
    with pytest.raises(SessionAccessError):
        the_store().load(copy, "local")
    assert the_store().head(session_id, "local").version == 1


def test_the_role_holds_in_the_browser_that_came_by_the_link():
    """A guest who closes the session and looks around is still a guest: it opens as a viewer, and
    the local user's other sessions are not there."""
    owner, _ = kept_session()
    key = share(owner, "viewer")
    press(owner, "Close, keep working unsaved")
    owner.text_input[0].set_value("Private")
    press(owner, "Keep this work as a session")
    viewer = open_app("sessions.py", key=key)
    press(viewer, "Close, keep working unsaved")
    assert [row["name"] for row in _sessions(viewer)] == ["Tuning"]
    press(viewer, "Open it")
    assert "you are viewer" in texts(viewer) and in_address(viewer, "key") == key


def _sessions(at):
    frame = next(d.value for d in at.dataframe if "your role" in d.value.columns)
    return frame.to_dict("records")


def test_an_editor_changes_and_does_not_own():
    """Behind an editor's link changes are kept, with the guest's name; sharing is not offered."""
    owner, session_id = kept_session()
    to_page(owner, "sessions.py")
    assert "No link makes an **editor** (" in texts(owner)
    editor = open_app("buckets.py", key=share(owner, "editor"))
    assert "Who opens this becomes an **editor** (" in texts(owner)
    editor.number_input(key="best_k").set_value(3).run()
    to_page(editor, "sessions.py")
    assert keys(editor) == [] and "Delete it for everybody" not in labels(editor)
    to_page(owner, "sessions.py")
    row = table_row(owner, "version", 2)
    assert row["who"].startswith("guest ")
    assert row["changes"] == "graphs in the best set, K: 3 (was the default)"
    press(owner, "Show it")
    to_page(owner, "buckets.py")
    assert owner.number_input(key="best_k").value == 3
    assert the_store().head(session_id, "local").version == 2


def test_a_withdrawn_link_ends_the_role_at_once():
    """The editor's next change is refused in a sentence, their work stays in their browser, and
    the link opens nothing any more."""
    owner, session_id = kept_session()
    key = share(owner, "editor")
    editor = open_app("buckets.py", key=key)
    press(owner, "Withdraw the editors' link")
    editor.number_input(key="best_k").set_value(3).run()
    said = shown(editor.error[0].value)
    assert "'Tuning' is not shared with you any more" in said and "unsaved" in said
    assert editor.number_input(key="best_k").value == 3
    assert the_store().head(session_id, "local").version == 1
    late = open_app(key=key)
    assert "leads to no session" in shown(late.error[0].value) and "batches" not in texts(late)


def test_a_role_taken_back_while_the_session_is_open():
    """An editor made a viewer is told at the next change and may only look from then on."""
    owner, session_id = kept_session()
    editor = open_app("buckets.py", key=share(owner, "editor"))
    to_page(owner, "sessions.py")
    press(owner, "Make viewer")
    editor.number_input(key="best_k").set_value(3).run()
    assert "You are a viewer" in shown(editor.error[0].value)
    assert VIEW_ONLY in [i.value for i in editor.info]
    to_page(owner, "sessions.py")
    press(owner, "Make editor")
    editor = open_app("buckets.py", key=in_address(editor, "key"))
    editor.number_input(key="best_k").set_value(3).run()
    assert the_store().head(session_id, "local").version == 2


def test_members_are_removed_and_leave():
    """The owner removes a member, a member leaves; both have no part in it afterwards."""
    owner, _ = kept_session()
    key = share(owner, "viewer")
    viewer = open_app("sessions.py", key=key)
    press(viewer, "Leave")
    assert "No session is kept yet." in texts(viewer)
    viewer = open_app("sessions.py", key=key)
    to_page(owner, "sessions.py")
    press(owner, "Remove")
    viewer.run()
    assert "not shared with you" in shown(viewer.error[0].value)


def test_a_session_is_deleted_by_its_owner():
    """Its address opens nothing afterwards; the owner's work stays in the browser."""
    owner, session_id = kept_session()
    press(owner, "Delete it for everybody")
    assert "batches.csv" in shown(texts(owner))
    late = open_app(session=session_id)
    assert "no such session" in shown(late.error[0].value)


def test_a_made_up_key_gives_nothing():
    """Whoever guesses is a guest without a part in anything."""
    _, session_id = kept_session()
    guest = open_app(key="a" * 22, session=session_id)
    said = [shown(e.value) for e in guest.error]
    assert len(said) == 2 and "leads to no session" in said[0] and "not shared with you" in said[1]
    to_page(guest, "sessions.py")
    assert "No session is kept yet." in texts(guest)
    who = identity.guest_of("a" * 22).who
    assert the_store().names_known_to(who) == {}  # and is not remembered


def test_the_whole_address_is_shown():
    """The link to copy is an address from its root, not from the page that shows it."""
    from app.address import full_address

    owner, session_id = kept_session()
    assert f"/?session={session_id}" in [block.value for block in owner.code]
    assert full_address("compare", first="a b").endswith("/compare?first=a+b")
