"""Sessions on the pages: kept as the work goes, opened by link, undone, and never lost."""

from __future__ import annotations

import pytest

from tests.app.apptest import PAGES, open_app, table_row, texts, to_page
from tests.app.session_steps import kept_session, press
from tests.conftest import DATA

pytestmark = pytest.mark.usefixtures("own_database")


def test_work_is_kept_and_a_link_opens_it():
    """What one browser uploads and chooses, another finds behind the link, with equal numbers."""
    at, session_id = kept_session()
    to_page(at, "buckets.py")
    at.multiselect(key="sets").set_value(["Best possible"])
    at.number_input(key="best_k").set_value(2).run()
    mine = table_row(at, "bucket set", "Best possible, K=2")
    other = open_app("buckets.py", session=session_id)
    assert other.number_input(key="best_k").value == 2
    assert table_row(other, "bucket set", "Best possible, K=2") == mine
    assert "batches.csv" in texts(other)


def test_a_trace_survives_with_its_numbers():
    """Arrivals and lengths come back from the database: the simulated steps are the same."""
    data = (DATA / "traces" / "azure_conv.csv").read_bytes()
    at, session_id = kept_session(data, "azure_conv.csv")
    to_page(at, "buckets.py")
    mine = table_row(at, "bucket set", "vLLM default")
    other = open_app("buckets.py", session=session_id)
    assert table_row(other, "bucket set", "vLLM default") == mine


def test_undo_goes_back_one_save():
    """A change of K is a version; undo brings the former K back."""
    at, _ = kept_session()
    to_page(at, "buckets.py")
    at.number_input(key="best_k").set_value(3).run()
    at.number_input(key="best_k").set_value(5).run()
    to_page(at, "sessions.py")
    press(at, "Undo the last save")
    to_page(at, "buckets.py")
    assert at.number_input(key="best_k").value == 3


def test_the_second_writer_is_told_and_chooses():
    """Two browsers change one session: the second sees what changed; joining keeps both."""
    first, session_id = kept_session()
    second = open_app("buckets.py", session=session_id)
    to_page(first, "buckets.py")
    first.number_input(key="best_k").set_value(7).run()
    second.text_input(key="own_sizes").set_value("1, 8").run()
    assert "graphs in the best set, K: 7 (was the default)" in texts(second)
    press(second, "Join both")
    assert second.number_input(key="best_k").value == 7
    assert second.text_input(key="own_sizes").value == "1, 8"


def test_an_unknown_link_is_one_sentence():
    """A link to a session that is not there opens the app and says so."""
    at = open_app(session="nothing-here")
    assert len(at.error) == 1 and not at.exception


def test_pasted_configurations_are_not_kept():
    """A pasted command line may hold secrets: it stays in the browser."""
    at, session_id = kept_session()
    to_page(at, "engine.py")
    at.text_area(key="config_vllm").set_value("vllm serve m --api-key secret-key-1").run()
    other = open_app("engine.py", session=session_id)
    assert other.text_area(key="config_vllm").value == ""


def test_a_file_carries_the_session():
    """The exported file, taken in elsewhere, gives the same session under a new id."""
    at, session_id = kept_session()
    from app.sessions import current as sessions

    _, data = sessions.store().export_file(session_id, "local")
    new_id = sessions.store().import_file(data, "local", "x.bucketwise.json")
    assert new_id != session_id
    other = open_app("buckets.py", session=new_id)
    assert "batches.csv" in texts(other)


def test_looking_around_changes_nothing():
    """Visiting every page of an open session adds no version."""
    from app.sessions import current as sessions

    _, session_id = kept_session()
    other = open_app(session=session_id)
    before = sessions.store().head(session_id, "local").version
    for page in PAGES:
        to_page(other, page)
    assert sessions.store().head(session_id, "local").version == before


def test_a_list_that_does_not_parse_is_no_version():
    """Failed tries of "My list" stay on the page and leave the session as it is; a list that
    parses is a version, and other changes meanwhile keep the last good list."""
    from app.sessions import current as sessions

    at, session_id = kept_session()
    to_page(at, "buckets.py")

    def kept() -> tuple[int, object]:
        found = sessions.store().load(session_id, "local")
        return found.version, found.document.settings.get("own_sizes")

    at.text_input(key="own_sizes").set_value("1, two, 4").run()
    assert kept() == (1, None)
    at.text_input(key="own_sizes").set_value("1, 2, 4").run()
    assert kept() == (2, "1, 2, 4")
    at.text_input(key="own_sizes").set_value("1, 2, 4..").run()
    to_page(at, "memory.py")
    to_page(at, "buckets.py")
    assert at.text_input(key="own_sizes").value == "1, 2, 4.." and kept() == (2, "1, 2, 4")
    assert "4.." in texts(at)
    at.number_input(key="best_k").set_value(5).run()
    assert kept() == (3, "1, 2, 4")
