"""Logs of API answers: OpenAI chat and Responses, batch outputs, Anthropic messages.

Only the numbers in `usage` and the time are taken; messages, ids and keys are never kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.record_form import RecordForm, read_records
from core.readers.common.source import Source
from core.readers.common.usage import find_usage, tokens_of_usage
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "created",
    "prompt_tokens": "usage.prompt_tokens",
    "output_tokens": "usage.completion_tokens",
}
ERROR_ROW = "answer is an error, without usage"
CHUNK = "chunk of a stream without usage (only the last one has it)"
NULL_USAGE = "usage is null (a stream without include_usage)"
NO_USAGE = "answer without usage"
_TIMES = ("created", "created_at", "timestamp", "request_time", "start_time", "time", "ts")
_TICKS = "`created` is the time of the answer in whole seconds, not the time of the request."
_OFFLINE = "An offline batch: there are no arrivals of users, only lengths."


def detect(head: Head, options: ReadOptions) -> bool:
    rows = head.json.sample if head.json else []
    return any(
        (found := find_usage(row)) is not None and tokens_of_usage(found[1]) is not None
        for row in rows
    )


def read_openai_usage(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade B where answers have a time; grade C for batches and answers without one."""
    rows = head.json.sample if head.json else []
    is_batch = any("custom_id" in row for row in rows)
    timed = not is_batch and any(_time(row) is not None for row in rows)
    columns = dict(COLUMN_MAP) if timed else {k: v for k, v in COLUMN_MAP.items() if k != "arrival"}
    notes = (_OFFLINE,) if is_batch else (_TICKS,) if any("created" in r for r in rows) else ()
    form = RecordForm(
        FORMAT.name,
        FORMAT.label,
        columns,
        rule=_rule,
        model=_model_path(rows),
        prompt=lambda row: _counts(row)[0],
        output=lambda row: _counts(row)[1],
        arrival=_time if timed else None,
        notes=notes,
    )
    return read_records(source, head, form, options)


def _rule(row: Mapping[str, Any]) -> str | None:
    found = find_usage(row)
    counts = tokens_of_usage(found[1]) if found else None
    if counts is not None:
        return None
    if row.get("error") or row.get("type") == "error":
        return ERROR_ROW
    if str(row.get("object", "")).endswith(".chunk"):
        return CHUNK
    return NULL_USAGE if found else NO_USAGE


def _counts(row: Mapping[str, Any]) -> tuple[Any, Any]:
    found = find_usage(row)
    return (tokens_of_usage(found[1]) if found else None) or (None, None)


def _time(row: Mapping[str, Any]) -> Any:
    """The logger's or the answer's time, whichever key comes first."""
    found = find_usage(row)
    for holder in (row, found[0] if found else row):
        for key in _TIMES:
            if holder.get(key) is not None:
                return holder[key]
    return None


def _model_path(rows: list[dict[str, Any]]) -> str | None:
    for path in ("model", "response.model", "response.body.model", "body.model"):
        for row in rows:
            value: Any = row
            for key in path.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, str):
                return path
    return None


FORMAT = Format("openai-usage", "API usage log (OpenAI, Anthropic)", detect, read_openai_usage, 30)
