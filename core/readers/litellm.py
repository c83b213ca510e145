"""LiteLLM: spend logs as CSV or JSON, and the logging payload of its callbacks.

A cache hit never reached the engine; embeddings and images are no decode; failures have 0 tokens.
Keys, users and messages are never read. Source: LiteLLM's schema of LiteLLM_SpendLogs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.record_form import RecordForm, read_records
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "startTime",
    "prompt_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
}
FAILURE = "status says that the request failed"
CACHE_HIT = "answered by the gateway's cache: it never reached the engine"
NO_DECODE = "kind of call without decode steps (embedding, image, audio)"
_DECODING = ("completion", "responses", "messages", "generate")


def failed(cell: Any) -> str | None:
    return FAILURE if str(cell).strip().lower() in ("failure", "failed", "error") else None


def cached(cell: Any) -> str | None:
    """`cache_hit` is a text."""
    return CACHE_HIT if str(cell).strip().lower() == "true" else None


def other_call(cell: Any) -> str | None:
    """Empty call types are taken for completions."""
    text = "" if cell is None else str(cell).strip().lower()
    return None if not text or any(word in text for word in _DECODING) else NO_DECODE


def detect(head: Head, options: ReadOptions) -> bool:
    needed = set(COLUMN_MAP.values())
    if head.header:
        return head.header >= needed and bool(head.header & {"call_type", "spend", "model_group"})
    return head.has_keys(*needed) and (head.has_keys("call_type") or head.has_keys("spend"))


def read_litellm(source: Source, head: Head, options: ReadOptions) -> Reading:
    """The newest row stands first; times without a zone are UTC."""
    if head.dialect is not None:
        rules = {"status": failed, "cache_hit": cached, "call_type": other_call}
        model = "model_group" if "model_group" in head.header else "model"
        table = TableFormat(FORMAT.name, FORMAT.label, COLUMN_MAP, rules=rules, model_column=model)
        return read_table(source, head.dialect, table, options)
    model = "model_group" if head.has_keys("model_group") else "model"
    form = RecordForm(FORMAT.name, FORMAT.label, COLUMN_MAP, rule=_row_rule, model=model)
    return read_records(source, head, form, options)


def _row_rule(row: Mapping[str, Any]) -> str | None:
    return (
        failed(row.get("status"))
        or cached(row.get("cache_hit"))
        or other_call(row.get("call_type"))
    )


FORMAT = Format("litellm", "LiteLLM spend log", detect, read_litellm)
