"""Baseten's request traces. Prompts are never kept. Source: the reader of AIPerf 0.13."""

from __future__ import annotations

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.record_form import RecordForm, read_records
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "timestamp_start_unix_ms",
    "prompt_tokens": "input_tokens",
    "output_tokens": "output_tokens",
}


def detect(head: Head, options: ReadOptions) -> bool:
    needed = set(COLUMN_MAP.values())
    return head.header >= needed or head.has_keys(*needed)


def read_baseten(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Arrivals are milliseconds since 1970."""
    if head.dialect is not None:
        table = TableFormat(FORMAT.name, FORMAT.label, COLUMN_MAP, time_unit="ms")
        return read_table(source, head.dialect, table, options)
    form = RecordForm(FORMAT.name, FORMAT.label, COLUMN_MAP, time_unit="ms")
    return read_records(source, head, form, options)


FORMAT = Format("baseten", "Baseten trace", detect, read_baseten)
