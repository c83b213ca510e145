"""Histograms: a length (or a batch size) and how often it occurs, one pair a line."""

from __future__ import annotations

import math

import numpy as np

from core.errors import ColumnMappingError, FileContentError
from core.readers.common import columns
from core.readers.common.cells import is_blank, parse_count, plain_number
from core.readers.common.dialect import Dialect
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.lengths import clipping_warning, merged_histogram
from core.readers.common.requests import no_rows
from core.readers.common.small_table import iter_rows
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Grade, LengthHistogram, SizeUnit, StepHistogram

COLUMN_MAP = {"length": "length", "count": "count"}
ZERO_COUNT = "count is 0"
SHARE_NAMES = ("share", "percent", "pct", "fraction", "percentage")
SHARE_TOLERANCE = 1e-3
MAX_WEIGHT = 10**12
"""A count above this is no count, and sums of such counts would leave 64 bits."""
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
    return _reading(source.name, dialect, roles, kind, said, pairs, drops)


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
        count = _count(_cell(row, roles["count"]), dialect.decimal)
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


def _count(cell: str, decimal: str) -> float | str:
    """A count, or a share with or without a percent sign; a reason where it is neither."""
    if is_blank(cell):
        return "count is blank"
    number = plain_number(cell.rstrip("% "), decimal)
    if number is None or not math.isfinite(float(number)):
        return "count is not a number"
    value = float(number)
    if value > MAX_WEIGHT:
        return f"count is above {MAX_WEIGHT:,}"
    return ZERO_COUNT if value == 0 else "count is below 0" if value < 0 else value


def _reason(lengths: dict[str, int | str], count: float | str) -> str | None:
    for role, length in lengths.items():
        if isinstance(length, str):
            return length
        if length < 1:
            return f"{columns.label_of(role)} is below 1"
    return count if isinstance(count, str) else None


class Weights:
    """Lengths and their counts or shares, as they come."""

    def __init__(self, said_shares: bool = False) -> None:
        self.lengths: list[int] = []
        self.weights: list[float] = []
        self._said_shares = said_shares

    def add(self, length: int, weight: float, percent: bool = False) -> None:
        self.lengths.append(length)
        self.weights.append(weight)
        self._said_shares |= percent

    @property
    def is_share(self) -> bool:
        """Fractions or percentages: they count nothing, they only have a shape."""
        return self._said_shares or any(weight != int(weight) for weight in self.weights)

    def histogram(self, what: str) -> LengthHistogram:
        weights = np.array(self.weights)
        if not self.is_share:
            weights = weights.astype(np.int64)
        return merged_histogram(np.array(self.lengths, np.int64), weights, what, self.is_share)


def _warnings(kind: str, said: bool, histograms: list[LengthHistogram]) -> list[str]:
    warnings = []
    first = histograms[0]
    if first.is_share:
        total = float(first.counts.sum())
        known = any(abs(total - whole) <= SHARE_TOLERANCE * whole for whole in (1.0, 100.0))
        warnings.append(
            "The counts are shares: the shape is known, the number of requests is not"
            + ("." if known else f" (they sum to {total:.4g}, not to 1 or 100).")
        )
    if not said and kind == "prompt":
        warnings.append("Read as prompt lengths; say so if they are outputs or batch sizes.")
    for histogram in histograms:
        warnings += clipping_warning(histogram, histogram.what)
    return warnings


def _reading(
    name: str,
    dialect: Dialect,
    roles: dict[str, int],
    kind: str,
    said: bool,
    pairs: dict[str, Weights],
    drops: Drops,
) -> Reading:
    kept = len(pairs["length"].lengths)
    names = dialect.header_row
    steps = prompt = output = None
    if kind == "batch":
        first = pairs["length"].histogram("batch")
        if first.is_share:
            raise FileContentError(
                f"{name}: counts of steps must be whole numbers; give counts instead of shares."
            )
        steps = StepHistogram(first.lengths, first.counts, SizeUnit.REQUESTS, source=name)
        warnings = []
    else:
        first = pairs["length"].histogram(kind)
        prompt, output = (first, None) if kind == "prompt" else (None, first)
        if "output_tokens" in pairs and kind == "prompt":
            output = pairs["output_tokens"].histogram("output")
        warnings = _warnings(kind, said, [h for h in (prompt, output) if h is not None])
    return Reading(
        format=FORMAT.name,
        label=FORMAT.label,
        grade=Grade.STEPS if steps is not None else Grade.LENGTHS,
        rows=kept + drops.total,
        kept=kept,
        prompt_lengths=prompt,
        output_lengths=output,
        steps=steps,
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        columns={role: names[index] for role, index in roles.items()},
        all_columns=tuple(names),
        warnings=tuple(warnings),
        facts={"histogram_of": kind},
    )


FORMAT = Format(
    "length-count", "histogram (length,count or batch,count)", detect, read_length_count, rank=55
)
