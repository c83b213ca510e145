"""OpenTelemetry traces as OTLP JSON: spans with gen_ai.usage attributes.

A span whose child repeats the usage is left out, so that a request counts once. Prompts in
attributes are never looked at. Source: OTLP JSON; vLLM's attribute names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.records_in import RecordCollector, iter_objects
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "startTimeUnixNano",
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
}
PROMPT_KEYS = (COLUMN_MAP["prompt_tokens"], "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens")
OUTPUT_KEYS = (
    COLUMN_MAP["output_tokens"],
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
)
PARENT = "span repeats the usage of its child"
NO_USAGE = "span without token usage"


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys("resourceSpans") or head.has_keys("scopeSpans")


def read_otel(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Arrivals are the spans' starts in nanoseconds since 1970, written as texts."""
    drops = Drops()
    found: list[tuple[int, Any, Any, Any, Any, Any]] = []
    for number, row in iter_objects(source, head, drops):
        for span in _spans(row):
            counts = _counts(span)
            if counts is None:
                drops.add(NO_USAGE, number)
            else:
                ids = span.get("spanId"), span.get("parentSpanId")
                found.append((number, *ids, *counts, span.get("startTimeUnixNano")))
    parents = {parent for _, _, parent, *_ in found if isinstance(parent, str) and parent}
    clock = Clock(options.time_unit, "ns")
    rows = RecordCollector(clock, drops)
    for number, span_id, _, prompt, output, start in found:
        if isinstance(span_id, str) and span_id in parents:
            drops.add(PARENT, number)
        else:
            rows.add(number, prompt, output, start)
    requests = rows.finish()
    notes = Notes(columns=dict(COLUMN_MAP), facts={"time_unit": clock.description})
    return requests_reading(FORMAT.name, FORMAT.label, source.name, requests, drops, notes, options)


def _list(value: Any) -> list[Any]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def _spans(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    resources = _list(row.get("resourceSpans")) or [row]
    for resource in resources:
        for scope in _list(resource.get("scopeSpans")):
            yield from _list(scope.get("spans"))


def _counts(span: Mapping[str, Any]) -> tuple[Any, Any] | None:
    values: dict[Any, Any] = {}
    for item in _list(span.get("attributes")):
        value = item.get("value")
        if item.get("key") in PROMPT_KEYS + OUTPUT_KEYS and isinstance(value, Mapping):
            values[item["key"]] = next(iter(value.values()), None)
    prompt = next((values[key] for key in PROMPT_KEYS if key in values), None)
    output = next((values[key] for key in OUTPUT_KEYS if key in values), None)
    return None if prompt is None and output is None else (prompt, output)


FORMAT = Format("otel-spans", "OpenTelemetry spans (OTLP JSON)", detect, read_otel)
