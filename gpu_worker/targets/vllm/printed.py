"""Phases and graph memory of a start, from what vLLM printed (0.11 to 0.23)."""

from __future__ import annotations

import re

PHASES = (
    ("load weights", r"Model loading took [\d.]+ GiB(?: memory)? and ([\d.]+) sec"),
    ("compile", r"torch\.compile (?:\D+ )?took ([\d.]+) s|\(compilation: ([\d.]+) s"),
    ("profile memory", r"Initial profiling/warmup run took ([\d.]+) s"),
    ("capture graphs", r"Graph capturing finished in ([\d.]+) sec"),
    ("profile, KV cache and warm-up together", r"init engine \(.*?\) took ([\d.]+) s"),
)
"""In the order of a start; the last holds those before it but for loading."""
CAPTURED = re.compile(r"Graph capturing finished in ([\d.]+) secs, took (-?[\d.]+) GiB")


def phases(text: str) -> tuple[tuple[str, float], ...]:
    """(phase, seconds) of those that were printed; the first rank's."""
    found = ((name, re.search(pattern, text)) for name, pattern in PHASES)
    return tuple(
        (name, float(next(filter(None, match.groups()))))
        for name, match in found
        if match is not None
    )


def capture(text: str) -> tuple[float | None, float | None]:
    """(seconds, GiB) of all graphs of the first rank that tells them; None where none does."""
    match = CAPTURED.search(text)
    return (float(match[1]), float(match[2])) if match is not None else (None, None)
