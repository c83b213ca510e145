"""Traffic without a single step to choose buckets for: one sentence on every page, no crash."""

from __future__ import annotations

import pytest

from tests.app.apptest import KV_TOKENS, PAGES, figure, numbers, shown, texts, to_page, with_file

HEADER = b"timestamp,prompt_tokens,completion_tokens\n"
ONE_TOKEN = HEADER + b"0.0,100,1\n0.5,200,1\n1.0,300,1\n"
TOO_LONG = HEADER + b"0.0,600000,10\n0.5,700000,20\n"
NO_DECODE = "No decode step: no output has more than one token"
REJECTED = f"2 of 2 requests were rejected: longer than the KV cache of {KV_TOKENS:,} tokens; raise"
NEED_STEPS = {"buckets.py", "break_even.py", "memory.py", "serve.py", "workload.py"}
LINKED = {"buckets.py", "break_even.py", "memory.py"}
"""Pages that lead to the Workload page, where the choice is made."""
ASK_STEPS = {"engine.py", "not_faster.py", "measure.py", "sessions.py"}


@pytest.mark.usefixtures("own_database")
@pytest.mark.parametrize(
    ("data", "sentence"),
    [(ONE_TOKEN, NO_DECODE), (TOO_LONG, REJECTED)],
    ids=["one token", "too long"],
)
def test_every_page_says_it_in_words(data: bytes, sentence: str):
    """Pages that need steps stop with the reason, once; others show it beside what needs none."""
    at = with_file(data, "trace.csv")
    for page in PAGES:
        to_page(at, page)
        said = [sentence in shown(error.value) for error in at.error]
        assert sum(said) == (page in NEED_STEPS | ASK_STEPS), page
        links = [link.proto.label for link in at.get("page_link")]
        assert ("To the Workload page" in links) == (page in LINKED), page
        if page in NEED_STEPS:
            assert not at.dataframe or page == "workload.py", page
        assert "Type a request rate above" not in texts(at), page


def test_the_way_out_leads_out():
    """Step tokens are there without a decode step: three prefills of 100, 200 and 300 tokens."""
    at = with_file(ONE_TOKEN, "trace.csv")
    at.radio(key="bucketed").set_value("Step tokens (steps that hold prefill)").run()
    assert not at.error and "3 steps" in texts(at)
    assert 300 in numbers(figure(at, "tep")["data"][0]["x"])
    to_page(at, "buckets.py")
    assert not at.error and "3 steps of 100 to 300 tokens" in texts(at)


def test_a_larger_kv_cache_serves_what_was_rejected():
    """The limit that the sentence names decides: with a million tokens the steps are there."""
    at = with_file(TOO_LONG, "trace.csv")
    at.number_input(key="kv_tokens").set_value(1_000_000).run()
    assert not at.error and "steps, estimated" in texts(at)
