"""The verdict on the pages: the study's sentence, list and figures, first on the Buckets page."""

from __future__ import annotations

import pytest

from tests.app.apptest import BATCHES, open_app, shown, table_row, texts, to_page, with_file

pytestmark = pytest.mark.usefixtures("own_database")

LOADS = ("x0.5 (sizes scaled)", "x1 (as it came)", "x2 (sizes scaled)")


def verdict_of(at) -> str:
    """The sentence under "What to run"."""
    (found,) = [m.value for m in at.markdown if m.value.startswith("**Keep") or "**Use" in m.value]
    return shown(found)


def test_the_verdict_stands_before_the_sets():
    """The example: keep vLLM's own list, told before any set is compared."""
    at = open_app("buckets.py", example="1")
    assert [item.value for item in at.subheader][:2] == ["What to run", "Bucket sets side by side"]
    assert verdict_of(at).startswith("**Keep vLLM's list: ")
    row = table_row(at, "load", "x1 (as it came)")
    assert row["TPOT p50 today"].endswith(" ms")
    today = table_row(at, "list", "today")
    assert today["sizes"] == "51" and today["graph memory"].endswith("iB")


def test_the_list_stands_in_the_engines_own_form():
    """vLLM takes its list as one flag; the sizes of today's list stand in it."""
    at = open_app("buckets.py", example="1")
    paste = at.code[0].value
    assert "cudagraph_capture_sizes" in paste and "512" in paste


def test_a_histogram_is_judged_by_its_steps():
    """Decode batches have no latency: the mean step of both lists stands there instead."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    for load in LOADS:
        assert table_row(at, "load", load)["mean decode step today"].endswith(" ms")
    assert "sizes times the load" in texts(at)


def test_prompt_lengths_get_no_decode_list():
    """A histogram of prompts asks for a rate or a concurrency; no list is offered to paste."""
    data = b"prompt_tokens,count\n212,5\n14050,1\n"
    at = to_page(with_file(data, "prompts.csv"), "buckets.py")
    told = [shown(item.value) for item in at.info]
    assert sum("request rate" in text and "concurrency" in text for text in told) == 2
    assert not at.code and not [box for box in at.selectbox if box.key == "export_engine"]


def test_nothing_on_the_page_tells_what_was_not_simulated():
    """No knee in words, no list "with the step time of" another."""
    said = texts(open_app("buckets.py", example="1"))
    for words in ("knee lies", "give the step time", "keep the list if"):
        assert words not in said


def test_large_traffic_is_judged_when_asked(monkeypatch: pytest.MonkeyPatch):
    """Beyond the limit a button stands there instead of minutes of waiting."""
    monkeypatch.setattr("app.deciding.verdict_view.MOST_AT_ONCE", 100)
    at = open_app("buckets.py", example="1")
    assert not [m for m in at.markdown if "**Keep" in m.value]
    at.button(key="judge").click().run()
    assert not at.exception and verdict_of(at).startswith("**Keep")


def test_the_landing_page_says_the_verdict():
    """One line where traffic is loaded, the sentence of the Buckets page."""
    at = open_app(example="1")
    (line,) = [shown(m.value) for m in at.markdown if m.value.startswith("**What to run:**")]
    to_page(at, "buckets.py")
    assert line.removeprefix("**What to run:** ") == verdict_of(at).strip("*")


def test_serve_shows_the_latencies_of_the_verdict():
    """vLLM's own list through the same requests: the study's run and the Serve page's are one."""
    at = open_app("buckets.py", example="1")
    today = table_row(at, "load", "x1 (as it came)")
    to_page(at, "serve.py")
    at.button(key="serve").click().run()
    served = table_row(at, "bucket set", "vLLM default")
    assert served["TPOT p50"] == today["TPOT p50 today"]
    assert served["TTFT p50"] == today["TTFT p50 today"]
