"""Reports that hold means and percentiles of lengths: inference-perf summaries, llm-d reports.

Source: inference-perf's summary_lifecycle_metrics, llm-d's benchmark report 0.1 and 0.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.readers.common.bucketed import sums_reading
from core.readers.common.columns import plain
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

NAMES = {
    "prompt": ("promptlen", "promptlength", "inputlen", "inputlength", "inputtokens"),
    "output": ("outputlen", "outputlength", "outputtokens"),
}
SAY = (
    "A summary: means and percentiles alone. Give the tool's file with a record a request to tune "
    "buckets."
)
MAX_DEPTH = 5
_PERCENTILE = re.compile(r"p\d{1,2}(?:\.\d+)?$")


def detect(head: Head, options: ReadOptions) -> bool:
    shape = head.json
    if shape is None or shape.lines or not isinstance(shape.document, dict):
        return False
    return any(_find(shape.document, names) is not None for names in NAMES.values())


def read_length_summary(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D."""
    document = head.json.document if head.json else {}
    notes = Notes()
    for what, names in NAMES.items():
        found = _find(document, names) or {}
        percentiles = {k: v for k, v in found.items() if _PERCENTILE.match(k)}
        if percentiles:
            notes.facts[f"{what}_percentiles"] = percentiles
        for name in ("mean", "min", "max"):
            if name in found:
                notes.facts[f"{what}_{name}_tokens"] = found[name]
    return sums_reading(FORMAT.name, FORMAT.label, 0, Drops(), notes, [SAY])


def _find(value: Any, names: tuple[str, ...]) -> dict[str, float] | None:
    """The first object under one of the names that holds a mean."""
    for key, inner in _walk(value, 0):
        if plain(key) in names and isinstance(inner.get("mean"), (int, float)):
            return {
                str(k): float(v)
                for k, v in inner.items()
                if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e15
            }
    return None


def _walk(value: Any, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(value, Mapping) or depth > MAX_DEPTH:
        return
    for key, inner in list(value.items())[:200]:
        if isinstance(inner, Mapping):
            yield str(key), inner
            yield from _walk(inner, depth + 1)


FORMAT = Format(
    "length-summary", "report of length statistics (JSON)", detect, read_length_summary, 45
)
