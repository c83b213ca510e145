"""Rows of a delimited text, where a quote that opens and never closes must not swallow others.

A row may go over several lines inside a quoted cell. Such a row is believed only where it keeps
the rules of CSV and has the shape of its table; otherwise its quote is taken for a stray one, and
each of its lines is a row of its own.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

OPEN_QUOTE = "a quote opens and is not closed in the row"


@dataclass(frozen=True)
class QuotedRow:
    """line : number of lines before the row. cells : None where it cannot be parsed.

    is_open : the last cell begins with a quote that the row does not close
    """

    line: int
    cells: list[str] | None
    is_open: bool = False


def iter_quoted_rows(
    text: str, delimiter: str, may_be_row: Callable[[Sequence[str]], bool]
) -> Iterator[QuotedRow]:
    """Every row of a text, blank ones too; each line is part of exactly one row.

    may_be_row : whether cells that go over several lines have the shape of a row
    """
    lines = list(io.StringIO(text))
    reader = csv.reader(lines, delimiter=delimiter)
    while reader.line_num < len(lines):
        start = reader.line_num
        try:
            cells = next(reader)
        except csv.Error:
            cells = None
        taken = lines[start : reader.line_num]
        is_last = reader.line_num == len(lines)
        if len(taken) == 1 and not is_last or _is_long_row(cells, taken, delimiter, may_be_row):
            yield QuotedRow(start, cells)
        else:
            yield from (_alone(start + i, line, delimiter) for i, line in enumerate(taken))


def _is_long_row(
    cells: Sequence[str] | None,
    lines: Sequence[str],
    delimiter: str,
    may_be_row: Callable[[Sequence[str]], bool],
) -> bool:
    """Whether several lines are one row, by its shape and by the rules of CSV."""
    if cells is None or len(lines) == 1 or not may_be_row(cells):
        return False
    return _is_whole(lines, delimiter)


def _is_whole(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a row's quotes close, with nothing between them and the next delimiter."""
    try:
        next(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return False
    return True


def _alone(line: int, text: str, delimiter: str) -> QuotedRow:
    """One line as a row; a quote that it leaves open would take a line after it too."""
    reader = csv.reader([text, ""], delimiter=delimiter)
    try:
        cells = next(reader)
    except csv.Error:
        return QuotedRow(line, None)
    is_open = reader.line_num > 1
    if is_open:
        cells[-1] = cells[-1].rstrip("\r\n")
    return QuotedRow(line, cells, is_open)


class OpenQuotes:
    """Where quotes were left open in a file."""

    def __init__(self) -> None:
        self.count = 0
        self.first_line = 0

    def add(self, line: int) -> None:
        self.first_line = self.first_line or line
        self.count += 1

    def warning(self) -> str:
        """One sentence on where, what was done, and the way out; "" where there are none."""
        if not self.count:
            return ""
        others = self.count - 1
        more = f" (so do {others:,} more)" if others else ""
        return (
            f"Line {self.first_line:,} opens a quote and does not close it{more}: it was read as "
            "a row of its own, and left out where the quote hides a number that it needs; close "
            "or delete the quote, and read the file again."
        )
