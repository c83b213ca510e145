"""Small tables, row by row: histograms, windows, reports."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from core.readers.common.dialect import Dialect
from core.readers.common.source import Source

MAX_ROW_BYTES = 4 << 20


def iter_rows(source: Source, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """(line number, stripped cells) of each row; blank and comment lines are no rows.

    A row of a small table is a line: a quoted line end is not followed.
    """
    for number, line in source.lines(MAX_ROW_BYTES):
        if number < dialect.first_line or not line.strip():
            continue
        text = line.decode("utf-8", "replace").replace("\0", "")
        if text.lstrip().startswith("#"):
            continue
        try:
            cells = next(csv.reader([text], delimiter=dialect.delimiter, skipinitialspace=True), [])
        except csv.Error:
            cells = [text]
        yield number, [cell.strip() for cell in cells]
