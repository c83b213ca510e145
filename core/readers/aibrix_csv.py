"""Per-request results of the AIBrix and production-stack benchmark clients.

Rows stand in the order in which requests ended; token counts are written as floats.
Source: vllm-project/aibrix, test/regression.
"""

from __future__ import annotations

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "launch_time",
    "prompt_tokens": "prompt_tokens",
    "output_tokens": "generation_tokens",
}


def detect(head: Head, options: ReadOptions) -> bool:
    return head.header >= {*COLUMN_MAP.values(), "finish_time"}


def read_aibrix_csv(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Arrivals are seconds since 1970."""
    assert head.dialect is not None
    form = TableFormat(FORMAT.name, FORMAT.label, COLUMN_MAP, time_unit="s")
    return read_table(source, head.dialect, form, options)


FORMAT = Format("aibrix-csv", "AIBrix or production-stack benchmark (CSV)", detect, read_aibrix_csv)
