"""genai-perf's profile_export.json: experiments with requests, token counts only inside `usage`.

Texts are searched for `usage` and forgotten. Source: documentation of perf_analyzer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.parallel import OTHER_RUN, end_to_end
from core.readers.common.records_in import RecordCollector
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.runs import always_closed_loop, choose_parts
from core.readers.common.source import Source
from core.readers.common.usage import tokens_of_usage
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "timestamp",
    "prompt_tokens": "usage.prompt_tokens",
    "output_tokens": "usage.completion_tokens",
}
NO_USAGE = "the server sent no usage: token counts are unknown"


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys("experiments") and any(
        isinstance(row.get("experiments"), list) for row in (head.json.sample if head.json else [])
    )


def read_genai_perf(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Arrivals are nanoseconds since 1970. Characters are never counted in place of tokens."""
    document = head.json.sample[0] if head.json else {}
    runs = [item for item in document.get("experiments", []) if isinstance(item, dict)]
    drops, notes = Drops(), Notes(columns=dict(COLUMN_MAP))
    labels = [_label(run, i) for i, run in enumerate(runs, 1)] or ["no experiment"]
    chosen = choose_parts(labels, options, notes, source.name)
    parts = []
    for index, run in enumerate(runs):
        requests = run.get("requests")
        requests = requests if isinstance(requests, list) else []
        if index not in chosen:
            drops.add(OTHER_RUN, None, len(requests))
            continue
        parts.append(_collect(requests, drops))
        setting = run.get("experiment")
        if isinstance(setting, Mapping) and setting.get("mode") == "concurrency":
            notes.warnings += always_closed_loop(setting.get("value"))
    found = end_to_end(parts) if parts else RecordCollector(Clock("ns"), drops).finish()
    return requests_reading(FORMAT.name, FORMAT.label, source.name, found, drops, notes, options)


def _collect(requests: list[Any], drops: Drops) -> Any:
    rows = RecordCollector(Clock("ns"), drops)
    for number, request in enumerate(requests, 1):
        item = request if isinstance(request, Mapping) else {}
        counts = next(_usages(item), None)
        if counts is None:
            drops.add(NO_USAGE, number)
        else:
            rows.add(number, *counts, item.get("timestamp"))
    return rows.finish()


def _usages(request: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """(prompt, output) of the last answer that has a usage."""
    outputs = request.get("response_outputs")
    for output in reversed(outputs if isinstance(outputs, list) else []):
        text = output.get("response") if isinstance(output, Mapping) else None
        if not isinstance(text, str) or '"usage"' not in text:
            continue
        for piece in reversed(text.split("data:")):
            try:
                value = json.loads(piece)
            except (ValueError, RecursionError):
                continue
            counts = tokens_of_usage(value.get("usage")) if isinstance(value, Mapping) else None
            if counts is not None:
                yield counts


def _label(run: Mapping[str, Any], number: int) -> str:
    setting = run.get("experiment")
    if isinstance(setting, Mapping):
        return f"{setting.get('mode')} {setting.get('value')}"
    return f"experiment {number}"


FORMAT = Format("genai-perf", "genai-perf requests (JSON)", detect, read_genai_perf)
