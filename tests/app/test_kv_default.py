"""The KV cache of the simulated engine follows the Memory page until a size is typed."""

from __future__ import annotations

import pytest

from app.report import button, engine_sections
from tests.app.apptest import KV_TOKENS, open_app, table_row, texts, to_page

pytestmark = pytest.mark.usefixtures("own_database")
NO_KV = '{"model_type": "llama"}'


def kv_shown(at) -> int:
    return at.number_input(key="kv_tokens").value


def count(text: object) -> float:
    """A printed count, e.g. "434,512" or "1.2 M"."""
    return float(str(text).replace(",", ""))


def test_the_default_is_what_the_memory_page_finds_without_graphs():
    """Workload and Serve show the same figure, and whose it is; a set leaves what Memory says."""
    at = open_app("workload.py", example="1")
    assert kv_shown(at) == KV_TOKENS
    assert f"{KV_TOKENS:,} tokens are what the card and model of the Memory page" in texts(at)
    assert f"KV cache of {KV_TOKENS:,} tokens as the Memory page finds" in texts(at)
    to_page(at, "memory.py")
    left = count(table_row(at, "bucket set", "Powers of two")["KV tokens"])
    to_page(at, "serve.py")
    assert kv_shown(at) == KV_TOKENS
    at.button(key="serve").click().run()
    served = count(table_row(at, "bucket set", "Powers of two")["KV tokens"])
    assert 0 < left < KV_TOKENS and served == pytest.approx(left, abs=32)  # two blocks of 16


def test_another_card_moves_the_default_and_a_typed_size_stays():
    """40 GiB instead of 80 take 36 GiB * 0.9 of tokens away; what was typed does not move."""
    at = open_app("memory.py", example="1")
    at.number_input(key="card_gib").set_value(40.0).run()
    to_page(at, "serve.py")
    assert kv_shown(at) == pytest.approx(KV_TOKENS - 36 * 2**30 / 131_072, abs=16)
    at.number_input(key="kv_tokens").set_value(123_456).run()
    assert "KV cache size: typed." in texts(at)
    to_page(at, "memory.py")
    at.number_input(key="card_gib").set_value(80.0).run()
    to_page(at, "workload.py")
    assert kv_shown(at) == 123_456
    assert f"have room for {KV_TOKENS:,} tokens" in texts(at)
    assert "KV cache of 123,456 tokens as typed" in texts(at)


def test_where_nothing_is_left_the_size_is_assumed_and_why_is_said():
    """A card too small for the model, or a config that cannot be read, gives 500,000, told so."""
    at = open_app("memory.py", example="1")
    at.number_input(key="card_gib").set_value(8.0).run()
    to_page(at, "serve.py")
    assert kv_shown(at) == 500_000
    assert "500,000 tokens assumed; the Memory page has none to give. Nothing is left" in texts(at)
    at.session_state["bucketwise"].values |= {"card_gib": 80.0, "model_config": NO_KV}
    to_page(at, "workload.py")
    assert kv_shown(at) == 500_000 and "tokens assumed" in texts(at)


def test_a_shown_default_is_no_choice_of_the_session():
    """Merely looking at pages stores no KV size and puts none into the address."""
    at = open_app("workload.py", example="1")
    to_page(at, "serve.py")
    assert "kv_tokens" not in at.session_state["bucketwise"].values
    assert "kv" not in at.query_params


def test_the_report_says_the_same(monkeypatch):
    """The report's runs are those with the page's KV cache, and it says whose size that is."""
    made, real = [], button._work
    monkeypatch.setattr(button, "_work", lambda *given: made.append(real(*given)) or made[-1])
    at = open_app("serve.py", example="1")
    at.button(key="serve").click().run()
    to_page(at, "buckets.py")
    words = f"KV cache of {KV_TOKENS:,} tokens as the Memory page finds before graphs"
    assert made[-1].served.kv_words == words and words in made[-1].traffic.note
    assert made[-1].served.runs[0].kv_tokens == KV_TOKENS
    section = engine_sections.serving_section(made[-1])
    assert section is not None and words in section.origin
