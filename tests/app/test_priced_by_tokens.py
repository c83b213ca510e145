"""Pages price steps that are counted by tokens with a prefill cost, decode steps with the decode
cost, and say which."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.report import button
from app.report.build import build_report
from app.report.work import Work
from app.workload.step_simulation import DECODE, MIXED, PROMPT
from core.records import SizeUnit
from tests.app.apptest import open_app, table_row, texts, with_file

PROMPTS = b"prompt_length,count\n1000,300\n"
EIGHT_B = "Shipped: h200-llama-8b"
SAID = "priced by tokens, not by decode rows"


def on_page(at, page: str):
    at.switch_page(f"app_pages/{page}.py").run()
    assert not at.exception, at.exception
    assert not at.error, [error.value for error in at.error]
    return at


def mean_step_ms(at, name: str) -> float:
    return float(table_row(at, "bucket set", name)["mean step"].removesuffix(" ms"))


def test_prompt_lengths_on_buckets_by_hand():
    """1,000 tokens in a graph of 1,024: the smallest replay 5,844 us once for base and prompt,
    1,024/305 of it for tokens, 1,024 x 1,025 / 2 / 3.7 million of it for attention."""
    at = on_page(with_file(PROMPTS, "prompts.csv"), "buckets")
    padded = 5.844 * (1 + 1024 / 305 + 1024 * 1025 / 2 / 3.7e6)
    exact = 5.844 * (1 + 1000 / 305 + 1000 * 1001 / 2 / 3.7e6)
    assert mean_step_ms(at, "Powers of two") == pytest.approx(padded, abs=0.02)
    assert mean_step_ms(at, "Best possible, K=16") == pytest.approx(exact, abs=0.02)
    # 1,024 rows of a decode step would take 5.8 + 1,024 x 0.044 = 50.9 ms.
    assert f"This traffic counts prompts by length, so its steps are {SAID}" in texts(at)
    assert "Assumed: one prompt a step, replay 5,844 µs + 19.2 µs a token" in texts(at)


def test_break_even_and_memory_of_prompts():
    """Padding 1,000 to 1,024 tokens costs more than submitting, so that graph never pays back; the
    Memory page says what its graphs are taken to need."""
    at = with_file(PROMPTS, "prompts.csv")
    on_page(at, "buckets").multiselect(key="sets").set_value(["Powers of two"]).run()
    on_page(at, "break_even")
    row = table_row(at, "bucket", 1024)
    assert float(row["graph step"].removesuffix(" ms")) == pytest.approx(26.29, abs=0.02)
    assert float(row["eager step"].removesuffix(" ms")) == pytest.approx(25.80, abs=0.02)
    assert row["saves from step"] == "never"
    assert "one prompt a step" in texts(at)
    assert "a graph of so many tokens is taken to need" in texts(on_page(at, "memory"))


def test_measured_chunks_price_prompts():
    """With the H200's 8B profile its prefill chunks are the price: 1,024 tokens took 30,262 us, in
    a graph that held 429,916,160 bytes."""
    at = with_file(PROMPTS, "prompts.csv")
    at.selectbox(key="cost_name").set_value(EIGHT_B).run()
    assert SAID in texts(at) and "tokens measured on NVIDIA H200" in texts(at)
    on_page(at, "buckets").multiselect(key="sets").set_value(["Powers of two"]).run()
    row = table_row(at, "bucket set", "Powers of two")
    assert float(row["mean step"].removesuffix(" ms")) == pytest.approx(30.28, abs=0.05)
    # The largest graph's pool, and the two of its smaller ones that hold 2 MiB of their own.
    assert float(row["graph memory"].removesuffix(" MiB")) >= 429_916_160 / 2**20
    at.button(key="check_choice").click().run()
    assert "unseen measurements say" in texts(at)
    on_page(at, "memory")
    assert "Measured: NVIDIA H200, llama-8b" in texts(at)


def test_a_report_takes_the_same_price(monkeypatch):
    """The work that a report is made from holds the cost by tokens, and the chunks behind it."""
    works = []

    def kept(**parts):
        works.append(Work(**parts))
        return works[-1]

    monkeypatch.setattr(button, "Work", kept)
    at = with_file(PROMPTS, "prompts.csv")
    at.selectbox(key="cost_name").set_value(EIGHT_B).run()
    on_page(at, "buckets")
    work = works[-1]
    assert work.view.cost.unit is SizeUnit.LENGTH
    assert work.profile is not None and work.profile.spec.target == "llama-prefill"
    sections = {
        section.title: section for section in build_report(work, datetime.now(UTC)).sections
    }
    assert "tokens measured on NVIDIA H200" in sections["Step times"].origin
    assert any(title.startswith("Break-even: ") for title in sections)


def test_the_choice_of_what_is_bucketed_reaches_the_price():
    """The sidebar says it in the same run in which the choice is made, and takes it back."""
    at = open_app("workload.py", example="1")
    assert SAID not in texts(at)
    at.radio(key="bucketed").set_value(MIXED).run()
    assert f"This traffic counts tokens a step, so its steps are {SAID}" in texts(at)
    assert "Assumed: the first 256 tokens of a step as rows of decode steps" in texts(at)
    at.radio(key="bucketed").set_value(PROMPT).run()
    assert "This traffic counts prompts by length" in texts(at)
    at.radio(key="bucketed").set_value(DECODE).run()
    assert SAID not in texts(at)


def test_drafted_tokens_are_rows_of_decode_steps():
    """With draft tokens a decode step counts tokens, and the decode cost prices them."""
    at = open_app("buckets.py", example="1")
    at.multiselect(key="sets").set_value(["Powers of two"]).run()
    plain = mean_step_ms(at, "Powers of two")
    at.session_state["bucketwise"].values["draft_tokens"] = 3
    at.run()
    assert not at.exception and "tokens;" in texts(at)
    assert SAID not in texts(at)
    assert mean_step_ms(at, "Powers of two") > plain  # four rows a request at 44 us
