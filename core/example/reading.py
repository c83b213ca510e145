"""The built-in example as if it had been read from a file."""

from __future__ import annotations

from core.example.trace import example_trace
from core.readers.common.lengths import length_histogram
from core.readers.reading import Reading
from core.records import Grade


def example_reading() -> Reading:
    """A synthetic chat-like trace from a seeded generator, labelled as such."""
    trace = example_trace()
    return Reading(
        format="example",
        label="Example trace (synthetic, seeded generator)",
        grade=Grade.REQUESTS,
        rows=len(trace),
        kept=len(trace),
        trace=trace,
        prompt_lengths=length_histogram(trace.prompt_tokens, "prompt"),
        output_lengths=length_histogram(trace.output_tokens, "output"),
        warnings=(
            "These requests are made up by a seeded generator. They show the pages at work and "
            "say nothing about your traffic.",
        ),
    )
