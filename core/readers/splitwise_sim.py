"""splitwise-sim's traces: `token_size` is the output, `batch_size` is no GPU batch.

Source: Mutinifni/splitwise-sim, traces/.
"""

from __future__ import annotations

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "arrival_timestamp",
    "prompt_tokens": "prompt_size",
    "output_tokens": "token_size",
}


def detect(head: Head, options: ReadOptions) -> bool:
    return head.header >= set(COLUMN_MAP.values())


def read_splitwise_sim(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Arrivals are seconds."""
    assert head.dialect is not None
    form = TableFormat(FORMAT.name, FORMAT.label, COLUMN_MAP, time_unit="s")
    return read_table(source, head.dialect, form, options)


FORMAT = Format("splitwise-sim-csv", "splitwise-sim trace (CSV)", detect, read_splitwise_sim)
