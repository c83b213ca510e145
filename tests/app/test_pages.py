"""Every page, whatever the traffic: something to show, or a sentence that says why not."""

from __future__ import annotations

import pytest

from tests.app.apptest import (
    PAGES,
    figure,
    open_app,
    table_row,
    texts,
    to_page,
    with_file,
)
from tests.conftest import DATA

pytestmark = pytest.mark.usefixtures("own_database")


@pytest.mark.parametrize("page", PAGES)
def test_empty_state_says_what_to_do(page):
    """Without traffic each page says so in a sentence and shows no error."""
    at = open_app(page)
    assert not at.error
    text = texts(at)
    assert any(word in text for word in ("example", "worker", "Paste", "session"))


@pytest.mark.parametrize("page", PAGES)
def test_every_page_works_with_the_example(page):
    """The example, opened by a link, gives every page something to show."""
    at = open_app(page, example="1")
    assert not at.error
    if page not in (
        "compare.py",
        "diagnose.py",
        "engine.py",
        "measure.py",
        "queue.py",
        "serve.py",
        "sessions.py",
    ):
        assert at.get("plotly_chart")


def test_choices_survive_a_change_of_page():
    """K chosen on Buckets is still there after a visit to Memory, and in the address bar."""
    at = open_app("buckets.py", example="1")
    at.number_input(key="best_k").set_value(7).run()
    to_page(at, "memory.py")
    to_page(at, "buckets.py")
    assert at.number_input(key="best_k").value == 7
    assert at.query_params["k"] in ("7", ["7"])
    assert table_row(at, "bucket set", "Best possible, K=7")["graphs"] == 7


def test_a_malformed_link_is_said():
    """A link with k=seven works, with the default, and says so."""
    at = open_app("buckets.py", example="1", k="seven")
    assert at.number_input(key="best_k").value == 16
    to_page(at, "buckets.py")


def test_same_set_has_the_same_colour_on_every_page():
    """A set's colour on the Memory chart is its colour on the Buckets chart."""
    at = open_app("buckets.py", example="1")
    padding = {t["name"]: t["marker"]["color"] for t in figure(at, "Padding against")["data"][1:]}
    to_page(at, "memory.py")
    memory = {
        t["name"]: t["marker"]["color"]
        for t in figure(at, "KV cache left")["data"]
        if t["mode"] == "markers"
    }
    assert padding and memory == padding


def test_a_limit_is_the_same_on_every_page_that_shows_it():
    """KV tokens set on Workload are what Serve shows, and the other way round."""
    at = open_app("workload.py", example="1")
    at.number_input(key="kv_tokens").set_value(123_000).run()
    to_page(at, "serve.py")
    assert at.number_input(key="kv_tokens").value == 123_000
    at.number_input(key="kv_tokens").set_value(77_000).run()
    to_page(at, "workload.py")
    assert at.number_input(key="kv_tokens").value == 77_000


@pytest.mark.parametrize("kind", range(3))
def test_every_kind_of_bucket_works_on_every_page(kind):
    """Decode batch, step tokens and prompt length: each page answers or says why not."""
    at = open_app("workload.py", example="1")
    radio = at.radio(key="bucketed")
    radio.set_value(radio.options[kind]).run()
    for page in PAGES:
        to_page(at, page)
        assert not any("Traceback" in e.value for e in at.error)


@pytest.mark.parametrize("name", ["vllm_cudagraph_stats.log", "hist_prompt_length_count.csv"])
def test_every_page_works_without_requests(name):
    """Step sizes from a log, or lengths alone, are enough for the pages that need no requests."""
    at = with_file((DATA / "traces" / name).read_bytes(), name)
    assert not at.error
    for page in PAGES:
        to_page(at, page)


def test_every_page_computes_with_a_measured_profile():
    """With a shipped profile as step cost the pages say fitted, and name card and date."""
    at = open_app("measure.py", example="1")
    name = next(n for n in at.selectbox(key="cost_name").options if "llama-8b" in n)
    at.selectbox(key="cost_name").set_value(name).run()
    assert not at.exception and not at.error
    assert "NVIDIA H200" in texts(at)
    fitted = [t for t in figure(at, "Step time (measured")["data"] if "fitted" in t["name"]]
    assert len(fitted) == 2
    for page in PAGES:
        to_page(at, page)
        assert not at.error, [e.value for e in at.error]
    to_page(at, "break_even.py")
    assert "Fitted: NVIDIA H200" in texts(at)
