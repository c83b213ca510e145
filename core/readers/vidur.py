"""vidur's processed traces: `arrived_at,num_prefill_tokens,num_decode_tokens`.

Source: microsoft/vidur, data/processed_traces.
"""

from __future__ import annotations

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "arrived_at",
    "prompt_tokens": "num_prefill_tokens",
    "output_tokens": "num_decode_tokens",
}


def detect(head: Head, options: ReadOptions) -> bool:
    return head.header >= set(COLUMN_MAP.values())


def read_vidur(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Arrivals are seconds from 0."""
    assert head.dialect is not None
    form = TableFormat(FORMAT.name, FORMAT.label, COLUMN_MAP, time_unit="s")
    return read_table(source, head.dialect, form, options)


FORMAT = Format("vidur-csv", "vidur or Splitwise trace (CSV)", detect, read_vidur)
