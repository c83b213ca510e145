"""How a delimited file is written: delimiter, decimal sign, where its header is."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from core.readers.common.cells import is_blank, is_number

DELIMITERS = (",", ";", "\t", "|")
MAX_COLUMNS = 500
LOOK_LINES = 60
csv.field_size_limit(32 << 20)  # a column of prompts may hold megabytes a cell

_TIME = re.compile(r"\d{4}[-/]\d\d[-/]\d\d([T ]\d\d?:\d\d)?")
_COMMA_DECIMAL = re.compile(r"[+-]?\d+,\d+$")


@dataclass(frozen=True)
class Dialect:
    """names : of the header, or "column 1".. without one; first_line : number of the first row."""

    delimiter: str
    names: tuple[str, ...]
    has_header: bool
    decimal: str
    first_line: int
    sample: tuple[tuple[str, ...], ...]

    @property
    def header_row(self) -> list[str]:
        return [name.strip() for name in self.names]

    def is_numeric(self, index: int) -> bool:
        """Whether most of the first cells of a column are numbers, or all are blank."""
        cells = [row[index] for row in self.sample if index < len(row)]
        filled = [cell for cell in cells if not is_blank(cell)]
        return 2 * sum(is_number(cell, self.decimal) for cell in filled) >= len(filled)


def looks_like_time(cell: str) -> bool:
    return bool(_TIME.match(cell.strip().strip("\"'")))


def split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Rows of cells; a line that the csv rules refuse becomes an empty row."""
    rows = []
    for line in lines:
        try:
            rows.append(next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), []))
        except csv.Error:
            rows.append([])
    return rows


def sniff_dialect(lines: Sequence[str]) -> Dialect | None:
    """The dialect of a table by its first lines; None when they hold no table.

    A table: most lines have the same number of cells, and its cells are short numbers or words.
    """
    joined = list(islice(_rows(lines, True), LOOK_LINES))
    return _sniffed(joined) or _sniffed(list(islice(_rows(lines, False), LOOK_LINES)))


def _sniffed(numbered: Sequence[tuple[int, str]]) -> Dialect | None:
    if not numbered:
        return None
    texts = [line for _, line in numbered]
    delimiter = _best_delimiter(texts)
    rows = split(texts, delimiter)
    width = len(rows[0])
    if not 1 <= width <= MAX_COLUMNS:
        return None
    same = sum(len(row) == width for row in rows)
    if 2 * same < len(rows):
        return None
    has_header = _is_header(rows[0]) or _words_above_values(rows)
    body = rows[1:] if has_header else rows
    names = [cell.strip() or f"column {i}" for i, cell in enumerate(rows[0], 1)]
    if not has_header:
        names = [f"column {i}" for i in range(1, width + 1)]
    first_line = numbered[0][0] + (1 if has_header else 0)
    sample = tuple(tuple(row) for row in body[:LOOK_LINES] if row)
    return Dialect(
        delimiter,
        tuple(_unique(names)),
        has_header,
        _decimal(sample, delimiter),
        first_line,
        sample,
    )


def _rows(lines: Sequence[str], join: bool) -> Iterator[tuple[int, str]]:
    """(number of its first line, text) of rows that are neither blank nor comments.

    join : lines of a quoted cell are one row; a quote that does not close soon is a stray one
    """
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if join and line.count('"') % 2:
            near = range(at, min(at + LOOK_LINES, len(lines)))
            end = next((i for i in near if lines[i].count('"') % 2), None)
            if end is not None:
                line, at = "\n".join(lines[start : end + 1]), end + 1
        yield start + 1, line


def _best_delimiter(lines: Sequence[str]) -> str:
    best, best_score = ",", 0.0
    for delimiter in DELIMITERS:
        widths = [len(row) for row in split(lines, delimiter)]
        width, times = Counter(widths).most_common(1)[0]
        score = times / len(widths) * (width > 1) + 1e-3 * (widths[0] == width) * (width > 1)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _is_header(row: Sequence[str]) -> bool:
    """A first line is a header unless it holds numbers, times or blanks alone."""
    filled = [cell for cell in row if not is_blank(cell)]
    values = sum(_is_value(cell) for cell in filled)
    return bool(filled) and 2 * values < len(filled)


def _words_above_values(rows: Sequence[Sequence[str]]) -> bool:
    """A word in the first line over a column of numbers or times is a name."""
    for index, cell in enumerate(rows[0]):
        if is_blank(cell) or _is_value(cell):
            continue
        below = [row[index] for row in rows[1:] if index < len(row) and not is_blank(row[index])]
        if below and 2 * sum(_is_value(cell) for cell in below) > len(below):
            return True
    return False


def _is_value(cell: str) -> bool:
    return is_number(cell) or is_number(cell, ",") or looks_like_time(cell)


def _decimal(sample: Sequence[Sequence[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in sample for cell in row]
    commas = sum(bool(_COMMA_DECIMAL.match(cell)) for cell in cells)
    dots = sum("." in cell and is_number(cell) for cell in cells)
    return "," if commas > dots else "."


def _unique(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result
