"""Lengths without arrivals as vidur and etalon ship them.

`num_total_tokens` and `pd_ratio` are derived from the two lengths and are not read.
Source: project-etalon/etalon and microsoft/vidur, data/processed_traces.
"""

from __future__ import annotations

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {"prompt_tokens": "num_prefill_tokens", "output_tokens": "num_decode_tokens"}


def detect(head: Head, options: ReadOptions) -> bool:
    return head.header == {*COLUMN_MAP.values(), "num_total_tokens", "pd_ratio"}


def read_etalon(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade C: lengths without arrivals."""
    assert head.dialect is not None
    form = TableFormat(FORMAT.name, FORMAT.label, COLUMN_MAP)
    return read_table(source, head.dialect, form, options)


FORMAT = Format("etalon-csv", "length pairs of vidur or etalon (CSV)", detect, read_etalon)
