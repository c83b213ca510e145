"""GuideLLM reports: benchmarks with successful, errored and incomplete requests.

Both layouts: since 0.8 (request_start_time) and that of 2025 (start_time). Texts are not kept.
Source: GuideLLM 0.8.1 and the 2025 source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.parallel import OTHER_RUN, end_to_end
from core.readers.common.records_in import RecordCollector, dig
from core.readers.common.requests import Notes, Requests, requests_reading
from core.readers.common.runs import CLOSED_LOOP, choose_parts
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "request_start_time",
    "prompt_tokens": "prompt_tokens",
    "output_tokens": "output_tokens",
}
ERRORED = "request failed (the benchmark noted an error)"
INCOMPLETE = "request had not ended when the benchmark did"
GOOD = ("successful", "completed")
OPEN_LOOP = ("poisson", "constant", "async", "trace", "fixed_schedule")


def detect(head: Head, options: ReadOptions) -> bool:
    rows = head.json.sample if head.json else []
    return head.has_keys("benchmarks") and any(
        isinstance(dig(item, "requests"), Mapping)
        for row in rows
        if isinstance(row.get("benchmarks"), list)
        for item in row["benchmarks"]
    )


def read_guidellm(source: Source, head: Head, options: ReadOptions) -> Reading:
    """One benchmark (rate) is read; several are pooled only when asked."""
    document = head.json.sample[0] if head.json else {}
    benchmarks = [b for b in document.get("benchmarks", []) if isinstance(b, Mapping)]
    drops, notes = Drops(), Notes(columns=dict(COLUMN_MAP))
    clock = Clock(options.time_unit, "s")
    labels = [_label(item, i) for i, item in enumerate(benchmarks, 1)]
    chosen = choose_parts(labels, options, notes, source.name)
    parts = []
    for index, item in enumerate(benchmarks):
        groups = _groups(item)
        if index not in chosen:
            drops.add(OTHER_RUN, None, sum(len(rows) for rows in groups.values()))
            continue
        parts.append(_collect(groups, Clock(options.time_unit, "s"), drops))
        kind = _strategy(item)
        if kind and kind not in OPEN_LOOP:
            notes.warnings.append(CLOSED_LOOP.format(why=f"strategy {kind}"))
    notes.facts["time_unit"] = clock.description
    requests = end_to_end(parts)
    return requests_reading(FORMAT.name, FORMAT.label, source.name, requests, drops, notes, options)


def _groups(item: Mapping[str, Any]) -> dict[str, list[Any]]:
    requests = item.get("requests")
    groups = requests.items() if isinstance(requests, Mapping) else ()
    return {str(name): rows for name, rows in groups if isinstance(rows, list)}


def _collect(groups: Mapping[str, list[Any]], clock: Clock, drops: Drops) -> Requests:
    rows = RecordCollector(clock, drops)
    for name, items in groups.items():
        if name not in GOOD:
            drops.add(INCOMPLETE if name == "incomplete" else ERRORED, None, len(items))
            continue
        for number, item in enumerate(items, 1):
            row = item if isinstance(item, Mapping) else {}
            rows.add(
                number,
                _first(row, "prompt_tokens", "input_metrics.text_tokens"),
                _first(row, "output_tokens", "output_metrics.text_tokens"),
                _first(row, "request_start_time", "start_time", "info.timings.request_start"),
            )
    return rows.finish()


def _first(row: Mapping[str, Any], *paths: str) -> Any:
    return next((value for path in paths if (value := dig(row, path)) is not None), None)


def _strategy(item: Mapping[str, Any]) -> str:
    for path in ("config.strategy.type_", "args.strategy.type_", "config.strategy.kind",
                 "scheduler_info.strategy.type_"):  # fmt: skip
        value = dig(item, path)
        if isinstance(value, str):
            return value
    return ""


def _label(item: Mapping[str, Any], number: int) -> str:
    rate = _first(item, "config.strategy.rate", "args.strategy.rate", "config.strategy.streams")
    kind = _strategy(item) or "benchmark"
    return f"{kind} {rate}" if isinstance(rate, (int, float)) else f"{kind} {number}"


FORMAT = Format("guidellm", "GuideLLM report (JSON)", detect, read_guidellm)
