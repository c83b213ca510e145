"""BurstGPT: two models in one file, seconds from midnight of the first day, failures answered 0.

Source: HPMLL/BurstGPT; files 1 and 2 have six columns, file 3 adds session and elapsed time.
"""

from __future__ import annotations

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "Timestamp",
    "prompt_tokens": "Request tokens",
    "output_tokens": "Response tokens",
}


def detect(head: Head, options: ReadOptions) -> bool:
    return head.header >= {*COLUMN_MAP.values(), "Model"}


def read_burstgpt(source: Source, head: Head, options: ReadOptions) -> Reading:
    """`Total tokens` is not a length; a response of 0 tokens is a failure."""
    assert head.dialect is not None
    form = TableFormat(FORMAT.name, FORMAT.label, COLUMN_MAP, time_unit="s", model_column="Model")
    return read_table(source, head.dialect, form, options)


FORMAT = Format("burstgpt-csv", "BurstGPT trace (CSV)", detect, read_burstgpt)
