"""Usage exports that hold sums a day or an hour: means alone, never a distribution.

OpenAI's organisation usage, and LiteLLM's daily tables and summarised spend logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.readers.common.bucketed import sums_reading
from core.readers.common.cells import plain_number
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.records_in import iter_objects
from core.readers.common.requests import Notes
from core.readers.common.small_table import iter_rows
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

REQUESTS = ("num_model_requests", "api_requests", "n_requests", "num_requests_total")
PROMPT = ("input_tokens", "prompt_tokens", "n_context_tokens_total")
OUTPUT = ("output_tokens", "completion_tokens", "n_generated_tokens_total")
SAY = (
    "Sums over many requests: they give a mean, not a distribution, so no percentile is shown. "
    "Give a log with a row a request{hint}."
)
BAD = "row without a number of requests"


def detect(head: Head, options: ReadOptions) -> bool:
    if head.header:
        return bool(head.header & set(REQUESTS)) and bool(head.header & set(PROMPT + OUTPUT))
    rows = head.json.sample if head.json else []
    return any(any(key in item for key in REQUESTS) for row in rows for item in _items(row)) or (
        bool(rows) and all({"startTime", "spend", "models"} <= set(row) for row in rows)
    )


def read_usage_sums(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: requests, totals and means."""
    drops, notes = Drops(), Notes()
    totals = {"requests": 0.0, "prompt": 0.0, "output": 0.0}
    rows = 0
    for number, item in _rows(source, head, drops):
        rows += 1
        requests = _first(item, REQUESTS)
        if requests is None:
            drops.add(BAD, number)
            continue
        totals["requests"] += requests
        totals["prompt"] += _first(item, PROMPT) or 0.0
        totals["output"] += _first(item, OUTPUT) or 0.0
    for what in ("prompt", "output"):
        notes.facts[f"{what}_total_tokens"] = totals[what]
        notes.facts[f"{what}_count"] = totals["requests"]
        if totals["requests"]:
            notes.facts[f"{what}_mean_tokens"] = totals[what] / totals["requests"]
    summarised = head.has_keys("startTime", "spend", "models")
    hint = "; ask for /spend/logs with summarize=false" if summarised else ""
    say = [SAY.format(hint=hint)]
    return sums_reading(FORMAT.name, FORMAT.label, rows, drops, notes, say)


def _rows(source: Source, head: Head, drops: Drops) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if head.dialect is not None:
        names = head.dialect.header_row
        for number, cells in iter_rows(source, head.dialect):
            yield number, dict(zip(names, cells, strict=False))
        return
    for number, row in iter_objects(source, head, drops):
        for item in _items(row):
            yield number, item


def _items(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rows of a page of buckets, of one bucket, or the object itself."""
    inner = next((row[k] for k in ("data", "results") if isinstance(row.get(k), list)), None)
    if inner is None:
        yield row
        return
    for item in inner:
        if isinstance(item, Mapping):
            yield from _items(item)


def _first(item: Mapping[str, Any], keys: tuple[str, ...]) -> float | None:
    for key in keys:
        value = item.get(key)
        text = plain_number(str(value)[:40]) if value is not None else None
        if text is not None and abs(float(text)) < 1e15:
            return float(text)
    return None


FORMAT = Format("usage-sums", "usage sums a day or hour", detect, read_usage_sums, rank=20)
