"""Objects of plain values, as the same table in CSV: what a table's readers know holds for JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

from core.readers.common.drops import Drops
from core.readers.common.head import Head
from core.readers.common.records_in import iter_objects
from core.readers.common.source import Source, open_source
from core.readers.options import ReadOptions

MAX_ROWS = 1_000_000
MAX_COLUMNS = 100
_PLAIN = (str, int, float, bool, type(None))


def is_flat(head: Head) -> bool:
    """Whether the file is JSON whose first objects hold plain values under the same keys."""
    sample = head.json.sample if head.json else []
    if not sample or not 1 <= len(sample[0]) <= MAX_COLUMNS:
        return False
    return all(row.keys() == sample[0].keys() for row in sample) and all(
        isinstance(value, _PLAIN) for row in sample for value in row.values()
    )


def as_table(source: Source, head: Head, options: ReadOptions) -> Source | None:
    """The objects as CSV, their keys as the header; None where some are of another shape, are not
    JSON, or there are more than MAX_ROWS."""
    if not is_flat(head):
        return None
    names = list(head.json.sample[0]) if head.json else []
    drops, out = Drops(), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for number, (_, row) in enumerate(iter_objects(source, head, drops), 1):
        if number > MAX_ROWS or row.keys() != set(names) or drops.total:
            return None
        writer.writerow([_cell(row[name]) for name in names])
    return None if drops.total else open_source(out.getvalue().encode(), source.name, options)


def _cell(value: Any) -> str:
    if value is None or isinstance(value, (dict, list)):
        return ""
    return str(value)
