"""Summaries of AIPerf and genai-perf, as JSON or CSV: percentiles and means, no single length.

Source: AIPerf 0.13.0; genai-perf's export of the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.readers.common.bucketed import sums_reading
from core.readers.common.cells import plain_number
from core.readers.common.columns import plain
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

METRICS = {"prompt": "inputsequencelength", "output": "outputsequencelength"}
STATISTICS = (
    "avg",
    "min",
    "max",
    "std",
    "p1",
    "p5",
    "p10",
    "p25",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
)
SAY = (
    "A summary: percentiles and means alone. Give the file with a line a request "
    "(profile_export.jsonl) to tune buckets."
)


def detect(head: Head, options: ReadOptions) -> bool:
    if head.json is not None:
        return head.has_keys("request_throughput") and (
            head.has_keys("output_sequence_length") or head.has_keys("input_sequence_length")
        )
    lines = [plain(line) for line in head.lines[:200]]
    return any(line.startswith("metric,") for line in lines) and any(
        line.startswith(tuple(METRICS.values())) for line in lines
    )


def read_aiperf_summary(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D."""
    metrics = _from_json(head) if head.json is not None else _from_csv(source)
    notes = Notes()
    for what, key in METRICS.items():
        found = metrics.get(key)
        if not found:
            continue
        notes.facts[f"{what}_percentiles"] = {
            name: found[name] for name in STATISTICS if name.startswith("p") and name in found
        }
        for name, ours in (("avg", "mean"), ("min", "min"), ("max", "max"), ("sum", "total")):
            if name in found:
                notes.facts[f"{what}_{ours}_tokens"] = found[name]
    for key, ours in (("requestcount", "completed"), ("requestthroughput", "request_throughput")):
        if "avg" in metrics.get(key, {}):
            notes.facts[ours] = metrics[key]["avg"]
    rows = int(notes.facts.get("completed", 0) or 0)
    return sums_reading(FORMAT.name, FORMAT.label, max(rows, 0), Drops(), notes, [SAY])


def _from_json(head: Head) -> dict[str, dict[str, float]]:
    document = head.json.sample[0] if head.json and head.json.sample else {}
    result = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            result[plain(str(name))] = {str(k): v for k, v in value.items() if _is_number(v)}
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def _from_csv(source: Source) -> dict[str, dict[str, float]]:
    """Blocks of "Metric,avg,min,..." or "Metric,Value", one after the other."""
    result: dict[str, dict[str, float]] = {}
    header: list[str] = []
    for number, line in source.lines(1 << 20):
        if number > 5000:
            break
        row = [cell.strip().strip('"') for cell in line.decode("utf-8", "replace").split(",")]
        if row and plain(row[0]) == "metric":
            header = [plain(cell) for cell in row]
        elif header and len(row) > 1:
            name = plain(row[0].split("(")[0])
            cells = zip(header[1:], row[1:], strict=False)
            values = {key: plain_number(cell) for key, cell in cells}
            result[name] = {
                ("avg" if key == "value" else key): float(text)
                for key, text in values.items()
                if text is not None
            }
    return result


FORMAT = Format(
    "aiperf-summary", "AIPerf or genai-perf summary", detect, read_aiperf_summary, rank=8
)
