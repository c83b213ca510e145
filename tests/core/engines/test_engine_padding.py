"""Padding by an engine's own rule."""

from __future__ import annotations

import numpy as np
import pytest

from core.engines import ENGINES
from core.engines.padding import engine_padding
from core.errors import CaptureSizesError
from core.padding import dispatched_report, padding_report
from core.records import StepHistogram


def test_without_padding_only_exact_sizes_replay():
    """TensorRT-LLM's default has padding off: sizes 3 replays, 40 is no captured size, so eager."""
    steps = StepHistogram.from_mapping({3: 10, 32: 5, 40: 7})
    engine = ENGINES["trtllm"]
    off = engine_padding(engine.plan(None, {"cuda_graph_padding": False}), steps)
    assert (off.padded_total, off.eager_steps, off.graph_steps) == (0, 7, 15)


def test_plain_rounding_up_is_what_vllm_does_without_speculation():
    """One token a request: vLLM's dispatch and rounding up give the same report."""
    steps = StepHistogram.from_mapping({1: 4, 3: 2, 100: 9, 250: 1, 600: 3})
    plan = ENGINES["vllm"].plan("0.33.0", {"max_num_seqs": 256, "max_num_batched_tokens": 8192})
    by_rule, plain = engine_padding(plan, steps), padding_report(steps, plan.sizes)
    assert (by_rule.padded_total, by_rule.eager_steps) == (plain.padded_total, plain.eager_steps)


def test_speculation_multiplies_the_slots_of_a_request():
    """With 3 draft tokens a batch of 1 is 4 slots: bucket 4, no padding."""
    plan = ENGINES["vllm"].plan("0.33.0", {"max_num_seqs": 16, "num_speculative_tokens": 3})
    report = engine_padding(plan, StepHistogram.from_mapping({1: 5}))
    assert (report.useful_slots, report.padded_total) == (20, 0)


def test_a_bucket_that_is_not_captured_is_refused():
    """A rule that sends a step to a graph that does not exist is an error, not a number."""
    steps = StepHistogram.from_mapping({3: 1})
    with pytest.raises(CaptureSizesError, match="cannot replay a graph of 5"):
        dispatched_report(steps, (4, 8), np.array([5]))
    with pytest.raises(CaptureSizesError, match="cannot replay a graph of 2"):
        dispatched_report(steps, (2, 8), np.array([2]))
