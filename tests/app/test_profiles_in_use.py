"""Measured profiles in the sidebar: their relatives, and the context of a step."""

from __future__ import annotations

import pytest

from tests.app.apptest import open_app, table_row, texts

BATCHES_OF_64 = "Shipped: h200-llama-8b"


def mean_step_ms(at) -> float:
    return float(table_row(at, "bucket set", "vLLM default")["mean step"].removesuffix(" ms"))


def test_the_context_of_a_step_reaches_every_chart():
    """The 8B profile stands at 512 tokens; at 65,536 tokens each step reads 128 times the KV cache,
    and the mean step grows. A profile measured at one context offers none."""
    at = open_app("buckets.py", example="1")
    at.selectbox(key="cost_name").set_value(BATCHES_OF_64).run()
    context = at.number_input(key="profile_context")
    assert context.value == 512 and "512 and 2,048" in context.help
    short = mean_step_ms(at)
    context.set_value(65_536).run()
    assert not at.exception and not at.error
    assert mean_step_ms(at) > 1.2 * short
    assert "Estimated: NVIDIA H200, llama-8b, context 65,536 tokens, beyond" in texts(at)
    at.selectbox(key="cost_name").set_value(f"{BATCHES_OF_64}-2k").run()
    assert at.number_input(key="profile_context").value == 2048
    at.selectbox(key="cost_name").set_value(f"{BATCHES_OF_64}-piecewise").run()
    assert not at.exception
    with pytest.raises(KeyError):
        at.number_input(key="profile_context")
