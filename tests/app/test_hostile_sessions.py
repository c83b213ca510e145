"""Sessions that somebody else wrote: no value in one breaks a page, and every text stays text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from core.records.session import TuningSession
from tests.app.apptest import PAGES, figure, open_app, shown, texts, to_page
from tests.app.session_steps import in_address, kept_session, press

pytestmark = pytest.mark.usefixtures("own_database")

VALUES = ("<b>x</b>", -1, 1e300, [1, "a"], {"a": 1}, None, True)
BESIDE_WIDGETS = ("measure_jobs", "fitted_models", "example", "sizes_count", "rate_rps", "arrive")
TEXT = "<img src=x onerror=alert(1)> ![i](http://evil.example/i.png) [l](http://evil.example) $x$"

MARKUP = re.compile(r"(?<!\\)(<img|!?\[[^\]]*[^\\]\]\(|\$)")


def without_models(document: TuningSession) -> TuningSession:
    rest = {key: item for key, item in document.settings.items() if key != "fitted_models"}
    return replace(document, settings=rest)


def the_store():
    from app.sessions import current as sessions

    return sessions.store()


@pytest.fixture
def every_setting():
    """(a session's document, its traffic, the keys of every widget that the pages draw)."""
    at, session_id = kept_session()
    for page in PAGES:
        to_page(at, page)
    drawn = set(at.session_state["bucketwise"].defaults)
    assert len(drawn) > 50
    # No session of ours holds the first two; the third is cut to what is computed with.
    keys = {k for k in drawn if not k.startswith(("config_", "compare_", "model_config"))}
    keys |= set(BESIDE_WIDGETS)
    store = the_store()
    return store.load(session_id, "local").document, store.load_workload(session_id, "local"), keys


@pytest.mark.parametrize(
    "values", [VALUES[:2], pytest.param(VALUES[2:], marks=pytest.mark.slow)], ids=["some", "more"]
)
def test_no_value_breaks_a_page(every_setting, values):
    """Every setting at once of another type or out of range: each page works with its defaults and
    says which settings it left. Looking around does not change the session."""
    document, reading, keys = every_setting
    for value in values:
        odd = replace(document, settings=dict.fromkeys(keys, value))
        session_id = the_store().create("local", odd, reading)
        at = open_app(session=session_id)
        for page in PAGES:
            to_page(at, page)
        assert "Settings that cannot be used here" in shown(texts(at)), value
        kept = the_store().load(session_id, "local")
        # A fitted model that is none is said and goes.
        assert without_models(kept.document) == without_models(odd), value


def test_numbers_out_of_range_are_told_and_stay(every_setting):
    """Who only looks changes nothing: each page shows its default and says so, and the session
    keeps its numbers; a number that is chosen then takes the place of its own alone."""
    document, reading, _ = every_setting
    beyond = {
        "best_k": 5_000, "best_multiple": 0, "max_num_seqs": 100_000, "kv_tokens": 7,
        "card_gib": 1e6, "utilization": 1.5, "tokens_per_request": 0.0, "uptime_h": 1e9,
        "ttft_limit_ms": -1.0, "samples": 1, "draft_tokens": 65,
    }  # fmt: skip
    odd = replace(document, settings=beyond)
    session_id = the_store().create("local", odd, reading)
    at = open_app(session=session_id)
    for page in ("workload.py", "buckets.py", "memory.py", "serve.py", "break_even.py"):
        to_page(at, page)
    assert the_store().head(session_id, "local").version == 1
    fresh = open_app("buckets.py", session=session_id)
    assert not fresh.error and "max_num_seqs = 100000" in shown(texts(fresh))
    to_page(at, "memory.py")
    assert at.number_input(key="card_gib").value == 80.0
    assert "card memory [GiB] = 1000000.0" in shown(texts(at))
    at.number_input(key="card_gib").set_value(40.0).run()
    kept = the_store().load(session_id, "local").document.settings
    assert kept == {**beyond, "card_gib": 40.0}


def test_an_odd_setting_is_kept_beside_a_change(every_setting):
    """What this version cannot use may be another's: a save leaves it as it was."""
    document, reading, _ = every_setting
    odd = replace(document, settings={"best_k": "many", "policy": "of tomorrow", "new": [1]})
    session_id = the_store().create("local", odd, reading)
    at = open_app("buckets.py", session=session_id)
    assert at.number_input(key="best_k").value == 16
    said = shown(texts(at))
    assert "graphs in the best set, K = many" in said and "pool = of tomorrow" in said
    at.text_input(key="own_sizes").set_value("1, 8").run()
    settings = the_store().load(session_id, "local").document.settings
    assert settings == {
        "best_k": "many", "policy": "of tomorrow", "new": [1], "own_sizes": "1, 8",
    }  # fmt: skip
    at.number_input(key="best_k").set_value(3).run()
    assert the_store().load(session_id, "local").document.settings["best_k"] == 3


def test_an_address_out_of_range_is_no_error():
    """A link that asks for a million graphs shows the page with its default."""
    at = open_app("buckets.py", example="1", k="1000000", sets="none-such", seqs="-4")
    assert not at.error and at.number_input(key="best_k").value == 16
    assert figure(at, "Slots the steps of each size replay")["data"]


def test_a_set_that_this_traffic_has_not_is_a_sentence(every_setting):
    """The engine's own list of another browser, or of a log, is named and left out."""
    document, reading, _ = every_setting
    names = ["Your engine today", "Your engine (from the log)", "![x](http://evil.example)", "vllm"]
    odd = replace(document, settings={"sets": names})
    at = open_app("memory.py", session=the_store().create("local", odd, reading))
    said = [w.value for w in at.warning]
    assert len(said) == 3 and not any("![" in text or "](" in text for text in said)
    assert "paste it on Engine again" in shown(said[0])


def test_pasted_configurations_of_a_document_are_not_kept_on(every_setting):
    """A session file with a pasted configuration loses it at the first save here."""
    document, reading, _ = every_setting
    odd = replace(document, settings={"config_vllm": "--api-key secret", "config_x": 7})
    session_id = the_store().create("local", odd, reading)
    at = open_app("buckets.py", session=session_id)
    at.number_input(key="best_k").set_value(3).run()
    assert dict(the_store().load(session_id, "local").document.settings) == {"best_k": 3}


def test_texts_stay_texts():
    """Names, notes and comments with HTML, Markdown and formulas are escaped in every sentence,
    and shown as typed."""
    at = open_app("sessions.py")
    at.text_input[0].set_value(TEXT)
    press(at, "Keep this work as a session")
    at.text_area[0].set_value(TEXT)
    press(at, "Save name and notes")
    at.text_area[1].set_value(TEXT)
    press(at, "Add the comment")
    session_id = in_address(at, "session")
    assert the_store().comments(session_id, "local")[0].body == TEXT
    second = open_app("sessions.py", session=session_id)
    press(at, "Fork: a copy of your own")
    assert TEXT[:20] in shown(at.subheader[0].value)
    second.text_area[0].set_value("changed")
    the_store().save(
        session_id,
        TuningSession(TEXT, settings={"own_sizes": TEXT}, notes=TEXT),
        the_store().head(session_id, "local").version,
        "local",
    )
    press(second, "Save name and notes")
    assert second.warning and TEXT[:20] in texts(second)
    for browser in (at, second):
        for page in ("sessions.py", "compare.py", "buckets.py"):
            to_page(browser, page)
            kinds = (browser.markdown, browser.caption, browser.warning, browser.subheader)
            for element in (element for kind in kinds for element in kind):
                assert not MARKUP.search(element.value), (page, element.value)
    to_page(at, "sessions.py")
    assert [t.value for t in at.text] == [TEXT]


@pytest.mark.parametrize("text", ["\x1b[2Jname", "two\nlines", "", " ", "x" * 201, "\u202egnp"])
def test_names_that_are_none_are_refused_in_a_sentence(text):
    """Control characters, marks that turn the writing around, nothing, and too much."""
    at = open_app("sessions.py")
    at.text_input[0].set_value(text)
    press(at, "Keep this work as a session")
    assert len(at.error) == 1 and the_store().list_for("local") == []
