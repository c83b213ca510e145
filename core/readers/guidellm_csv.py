"""GuideLLM's CSV: three header rows over aggregates, a row a benchmark. Source: GuideLLM 0.8.1."""

from __future__ import annotations

import csv
import json

from core.readers.common.bucketed import sums_reading
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

MAX_BYTES = 16 << 20
SAY = "A summary: means and percentiles alone. Give GuideLLM's JSON report to tune buckets."
PERCENTILES = ("min", "p0.1", "p1", "p5", "p10", "p25", "p75", "p90", "p95", "p99", "max")
"""Order of the list in a cell: without the median, which has a column of its own."""
_GROUP = {"prompt": "Successful Input Tokens", "output": "Successful Output Tokens"}


def detect(head: Head, options: ReadOptions) -> bool:
    first = head.lines[0] if head.lines else ""
    return first.startswith(("Run Info,", "Benchmark,")) and "Token Metrics" in first


def read_guidellm_csv(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: the first benchmark's means and percentiles."""
    text = source.read_all(MAX_BYTES, "a GuideLLM summary").decode("utf-8", "replace")
    try:
        rows = list(csv.reader(text.replace("\0", "").splitlines()))
    except csv.Error:
        rows = []
    columns = list(zip(*rows, strict=False)) if len(rows) > 3 else []
    notes = Notes()
    completed = 0
    for group, name, kind, value in (column[:4] for column in columns):
        if (group, name) == ("Request Counts", "Successful"):
            completed = int(float(value)) if _is_number(value) else 0
        for what, wanted in _GROUP.items():
            if group == "Token Metrics" and name == wanted:
                _take(notes, what, kind, value)
    benchmarks = max(len(rows) - 3, 0)
    if benchmarks > 1:
        notes.warnings.append(f"The first of {benchmarks} benchmarks is shown.")
    notes.facts["completed"] = completed
    return sums_reading(FORMAT.name, FORMAT.label, max(completed, 0), Drops(), notes, [SAY])


def _take(notes: Notes, what: str, kind: str, value: str) -> None:
    if kind in ("Mean", "Median") and _is_number(value):
        notes.facts[f"{what}_{kind.lower()}_tokens"] = float(value)
    elif kind == "Percentiles":
        try:
            values = json.loads(value)
        except (ValueError, RecursionError):
            return
        if isinstance(values, list) and len(values) == len(PERCENTILES):
            named = dict(zip(PERCENTILES, values, strict=True))
            notes.facts[f"{what}_percentiles"] = {
                k: v for k, v in named.items() if isinstance(v, (int, float))
            }


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < 1e15
    except ValueError:
        return False


FORMAT = Format("guidellm-csv", "GuideLLM summary (CSV)", detect, read_guidellm_csv, rank=5)
