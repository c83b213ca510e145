"""Padding through an engine's own rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines.padding import engine_padding
from core.engines.plan import Mode
from core.errors import HistogramError
from core.padding import padding_report
from core.records import StepHistogram

VLLM = ENGINES["vllm"]
steps_by_size = st.dictionaries(st.integers(1, 64), st.integers(1, 100), min_size=1)


def test_exact_sizes_only() -> None:
    """TensorRT-LLM without padding: 3 runs eager instead of padding to 4."""
    steps = StepHistogram.from_mapping({2: 5, 3: 4, 4: 1})
    found = engine_padding(ENGINES["trtllm"], steps, [1, 2, 4])
    assert (found.report.padded_total, found.report.eager_steps) == (0, 4)
    assert found.steps_by_mode == {Mode.FULL: 6, Mode.EAGER: 4}
    padded = engine_padding(ENGINES["trtllm"], steps, [1, 2, 4], None, {"enable_padding": True})
    assert (padded.report.padded_total, padded.report.eager_steps) == (4, 0)


def test_speculation_counts_tokens() -> None:
    """5 requests of 3 tokens are 15; the full graph of 18 pads 3 slots, not the list's 16."""
    steps = StepHistogram.from_mapping({5: 10})
    settings = {"max_num_seqs": 8, "num_speculative_tokens": 2}
    found = engine_padding(VLLM, steps, [4, 8, 16, 24], "0.33.0", settings)
    assert found.report.useful_slots == 150
    assert found.report.total_slots == 180
    assert found.steps_by_mode == {Mode.FULL: 10}


def test_nothing_captured() -> None:
    """Without graphs there is nothing to pad to."""
    steps = StepHistogram.from_mapping({1: 1})
    with pytest.raises(HistogramError, match="every step runs eager"):
        engine_padding(VLLM, steps, None, None, {"enforce_eager": True})


@given(steps_by_size, st.sets(st.integers(1, 64), min_size=1))
def test_plain_rounding_up_is_the_common_case(counts: dict[int, int], sizes: set[int]) -> None:
    """One token a request and padding on: the engine's rule is rounding up."""
    steps = StepHistogram.from_mapping(counts)
    plain = padding_report(steps, sorted(sizes))
    found = engine_padding(ENGINES["tgi"], steps, sorted(sizes)).report
    assert found.total_slots == plain.total_slots
    assert found.eager_steps == plain.eager_steps
    assert found.hits.tolist() == plain.hits.tolist()
