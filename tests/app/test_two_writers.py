"""Two people change one session: on every page the second is told, chooses, and nothing is lost."""

from __future__ import annotations

import pytest

from tests.app.apptest import PAGES, open_app, shown, texts, to_page
from tests.app.session_steps import in_address, kept_session, labels, press

pytestmark = pytest.mark.usefixtures("own_database")

WAYS = {"Join both", "Take theirs", "Save mine over it", "Keep mine as a copy"}


def the_store():
    from app.sessions import current as sessions

    return sessions.store()


def settings(session_id: str) -> dict:
    return dict(the_store().load(session_id, "local").document.settings)


def choose_k(at, k: int):
    at.number_input(key="best_k").set_value(k).run()
    assert not at.exception, at.exception


@pytest.fixture
def two():
    """A session that two browsers have open on the Buckets page, and its id."""
    first, session_id = kept_session()
    to_page(first, "buckets.py")
    return first, open_app("buckets.py", session=session_id), session_id


@pytest.mark.parametrize(
    "pages", [PAGES[::5], pytest.param(PAGES, marks=pytest.mark.slow)], ids=["some", "every"]
)
def test_the_second_writer_is_told_on_every_page(two, pages):
    """Whichever page it is on: what the other changed, no version over it, and both changes after
    joining; also what is changed while the question stands."""
    first, _, session_id = two
    for k, page in enumerate(pages, start=20):
        second = open_app(page, session=session_id)
        choose_k(first, k)
        before = the_store().head(session_id, "local").version
        second.number_input(key="cost_step_us").set_value(1000.0 + k).run()
        said = texts(second)
        assert "local saved version" in said, page
        assert any(f"best set, K: {text}" in said for text in (f"{k - 1} → {k}", f"{k} (was")), page
        assert set(labels(second)) >= WAYS and "assumed step cost, replay: fixed" in said, page
        second.number_input(key="cost_capture_ms").set_value(2000.0 + k).run()
        assert the_store().head(session_id, "local").version == before, page
        press(second, "Join both")
        assert set(labels(second)) & WAYS == set(), page
        kept = settings(session_id)
        assert (kept["best_k"], kept["cost_step_us"], kept["cost_capture_ms"]) == (
            *(k, 1000.0 + k, 2000.0 + k),
        ), page
        assert second.number_input(key="cost_capture_ms").value == 2000.0 + k, page
        to_page(first, "sessions.py")
        press(first, "Show it")
        to_page(first, "buckets.py")


def conflict(two) -> None:
    """The first chose K = 7, the second K = 9 and another list; the second is asked."""
    first, second, _ = two
    choose_k(first, 7)
    second.text_input(key="own_sizes").set_value("1, 8")
    choose_k(second, 9)
    assert set(labels(second)) >= WAYS


def test_both_changed_the_same(two):
    """Joining keeps one's own value, and says so beforehand; the other's is in the history."""
    _, second, session_id = two
    conflict(two)
    (join,) = [button for button in second.button if button.label == "Join both"]
    assert "graphs in the best set, K: yours is taken" in shown(join.help)
    press(second, "Join both")
    assert (settings(session_id)["best_k"], settings(session_id)["own_sizes"]) == (9, "1, 8")
    assert the_store().load_version(session_id, 2, "local").settings["best_k"] == 7


def test_taking_theirs(two):
    """The browser shows what the other saved, and no version is added."""
    _, second, session_id = two
    conflict(two)
    press(second, "Take theirs")
    assert second.number_input(key="best_k").value == 7
    assert second.text_input(key="own_sizes").value != "1, 8"
    assert the_store().head(session_id, "local").version == 2


def test_saving_mine_over_it(two):
    """The newest version is one's own; the other's stays one step back."""
    first, second, session_id = two
    conflict(two)
    press(second, "Save mine over it")
    assert settings(session_id)["best_k"] == 9
    assert the_store().load_version(session_id, 2, "local").settings["best_k"] == 7
    choose_k(first, 7)  # unchanged: the first browser is not asked about what it did not change
    assert set(labels(first)) & WAYS == set()


def test_keeping_mine_as_a_copy(two):
    """The other's version stays; one's own work goes on in a session of its own."""
    _, second, session_id = two
    conflict(two)
    press(second, "Keep mine as a copy")
    copy = in_address(second, "session")
    assert copy != session_id and settings(session_id)["best_k"] == 7
    assert (settings(copy)["best_k"], settings(copy)["own_sizes"]) == (9, "1, 8")
    choose_k(second, 11)
    assert settings(copy)["best_k"] == 11 and settings(session_id)["best_k"] == 7


def test_a_third_writer_comes_between(two):
    """Somebody saves once more before the choice: it is asked again, about the newest."""
    first, second, session_id = two
    conflict(two)
    choose_k(first, 12)
    press(second, "Join both")
    said = shown(" ".join(w.value for w in second.warning))
    assert "version 3" in said and set(labels(second)) >= WAYS
    press(second, "Join both")
    assert settings(session_id)["best_k"] == 9 and settings(session_id)["own_sizes"] == "1, 8"
    assert the_store().load_version(session_id, 3, "local").settings["best_k"] == 12


def test_names_and_notes_are_no_different(two):
    """A note typed while somebody else saved is not lost either."""
    first, second, session_id = two
    choose_k(first, 7)
    to_page(second, "sessions.py")
    second.text_area[0].set_value("Look at size 3.")
    press(second, "Save name and notes")
    press(second, "Join both")
    kept = the_store().load(session_id, "local").document
    assert kept.notes == "Look at size 3." and kept.settings["best_k"] == 7


def test_a_choice_of_sets_survives_a_second_visit(two):
    """What was chosen stays in the session when its page is visited again."""
    first, _, session_id = two
    first.multiselect(key="sets").set_value(["My list"]).run()
    to_page(first, "memory.py")
    to_page(first, "buckets.py")
    assert settings(session_id)["sets"] == ["My list"]


def test_a_store_that_does_not_answer_is_one_sentence(two, monkeypatch):
    """Work goes on unsaved, and is saved when the store answers again."""
    from core.errors import SessionError
    from core.store.sessions import SessionStore

    first, _, session_id = two

    def fail(*_, **__):
        raise SessionError("The session database did not answer: gone. Nothing was written.")

    with monkeypatch.context() as patched:
        patched.setattr(SessionStore, "save", fail)
        choose_k(first, 7)
        assert "Not saved. The session database did not answer" in shown(first.error[0].value)
    assert "best_k" not in settings(session_id)
    choose_k(first, 8)
    assert settings(session_id)["best_k"] == 8
    first.run()
    assert not first.error
