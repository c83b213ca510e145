"""Histograms: a length (or a batch size) and how often it occurs, one pair a line."""

from __future__ import annotations

from core.errors import ColumnMappingError
from core.readers.common import columns
from core.readers.common.cells import is_blank, parse_count, plain_number
from core.readers.common.dialect import Dialect
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.requests import no_rows
from core.readers.common.small_table import iter_rows
from core.readers.common.source import Source
from core.readers.common.weights import Weights, histogram_reading, parse_weight
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {"length": "length", "count": "count"}
SHARE_NAMES = ("share", "percent", "pct", "fraction", "percentage")
_LENGTH_NAMES = (
    *columns.LENGTH,
    *columns.PROMPT,
    *columns.PROMPT_SHORT,
    *columns.OUTPUT,
    *columns.OUTPUT_SHORT,
)


def detect(head: Head, options: ReadOptions) -> bool:
    """Two or three columns, one named like a length, one like a count, all numbers."""
    dialect = head.dialect
    if dialect is None:
        return False
    if "count" in options.columns and "length" in options.columns:
        return True
    if not dialect.has_header or len(dialect.names) not in (2, 3):
        return False
    names = dialect.header_row
    roles = _roles(names)
    return (
        roles is not None
        and _numbers(dialect, roles["length"])
        and not columns.find(names, columns.ARRIVAL, arrival=True)
    )


def read_length_count(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Repeated lengths are added up, counts of 0 left out.

    Raises ColumnMappingError when a column does not exist, FileContentError when nothing is left.
    """
    dialect = head.dialect
    assert dialect is not None
    names = dialect.header_row
    roles = _roles(names) or {}
    for role in ("length", "count"):
        if role in options.columns:
            roles[role] = columns.index_of(names, options.columns[role], role, source.name)
    if {"length", "count"} - set(roles):
        raise ColumnMappingError(
            f"{source.name}: say which column is the length and which the count; "
            f"columns are {columns.listed(names)}.",
            columns=tuple(names),
        )
    kind, said = _kind(names[roles["length"]])
    kind, said = (options.histogram_of, True) if options.histogram_of else (kind, said)
    drops = Drops()
    pairs = _pairs(source, dialect, roles, drops)
    if not pairs["length"].lengths:
        raise no_rows(source.name, FORMAT.label, drops)
    return histogram_reading(
        FORMAT.name,
        FORMAT.label,
        source.name,
        pairs,
        kind,
        said,
        drops,
        {role: names[index] for role, index in roles.items()},
        tuple(names),
    )


def _roles(names: list[str]) -> dict[str, int] | None:
    """{length, count and, in a third column, output_tokens: index}."""
    counts = columns.find(names, columns.COUNT)[:1]
    lengths = [i for i in columns.find(names, (*columns.BATCH, *_LENGTH_NAMES)) if i not in counts]
    if not counts or not lengths:
        return None
    roles = {"length": lengths[0], "count": counts[0]}
    outputs = columns.find(names, (*columns.OUTPUT, *columns.OUTPUT_SHORT))
    if len(lengths) > 1 and outputs and outputs[0] != lengths[0]:
        roles["output_tokens"] = outputs[0]
    return roles


def _kind(name: str) -> tuple[str, bool]:
    """(what the column counts, whether its name says so)."""
    key = columns.plain(name)
    if key in columns.BATCH:
        return "batch", True
    if key in (*columns.OUTPUT, *columns.OUTPUT_SHORT):
        return "output", True
    return "prompt", key in (*columns.PROMPT, *columns.PROMPT_SHORT)


def _numbers(dialect: Dialect, index: int) -> bool:
    cells = [row[index] for row in dialect.sample if index < len(row)]
    filled = [cell for cell in cells if not is_blank(cell)]
    good = sum(plain_number(cell, dialect.decimal) is not None for cell in filled)
    return 2 * good >= len(filled)


def _pairs(
    source: Source, dialect: Dialect, roles: dict[str, int], drops: Drops
) -> dict[str, Weights]:
    """{role: weighted lengths}; a row that lacks any of them is left out whole."""
    shares = columns.plain(dialect.header_row[roles["count"]]) in SHARE_NAMES
    pairs = {role: Weights(shares) for role in roles if role != "count"}
    for number, row in iter_rows(source, dialect):
        if row == dialect.header_row:
            drops.add("header line repeated", number)
            continue
        count = parse_weight(_cell(row, roles["count"]), dialect.decimal)
        lengths = {
            role: parse_count(_cell(row, roles[role]), columns.label_of(role), dialect.decimal)
            for role in pairs
        }
        reason = _reason(lengths, count)
        if reason:
            drops.add(reason, number)
            continue
        for role, length in lengths.items():
            pairs[role].add(int(length), float(count), "%" in _cell(row, roles["count"]))
    return pairs


def _cell(row: list[str], index: int) -> str:
    return row[index] if index < len(row) else ""


def _reason(lengths: dict[str, int | str], count: float | str) -> str | None:
    for role, length in lengths.items():
        if isinstance(length, str):
            return length
        if length < 1:
            return f"{columns.label_of(role)} is below 1"
    return count if isinstance(count, str) else None


FORMAT = Format(
    "length-count", "histogram (length,count or batch,count)", detect, read_length_count, rank=55
)
