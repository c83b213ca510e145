"""SGLang's request metrics file (--export-metrics-to-file): JSON Lines written as requests end.

Source: SGLang 0.5.23.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.record_form import RecordForm, read_records
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "request_received_ts",
    "prompt_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
}
ABORTED = "request was aborted"


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys(*COLUMN_MAP.values())


def read_sglang_requests(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Arrivals are seconds since 1970; request parameters may hold texts and are not read."""
    form = RecordForm(FORMAT.name, FORMAT.label, COLUMN_MAP, rule=_rule, time_unit="s")
    return read_records(source, head, form, options)


def _rule(row: Mapping[str, Any]) -> str | None:
    reason = row.get("finish_reason")
    kind = reason.get("type") if isinstance(reason, Mapping) else reason
    return ABORTED if kind == "abort" else None


FORMAT = Format("sglang-requests", "SGLang request metrics", detect, read_sglang_requests)
