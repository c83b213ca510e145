"""Grafana panel exports: a time column and a column for each bucket bound.

Cells rise along a row where the panel kept Prometheus' cumulative buckets; heat maps are
differenced already. Columns that rise over time are counters.
"""

from __future__ import annotations

import re

import numpy as np

from core.errors import FileContentError
from core.readers.common.bucketed import (
    Range,
    Ranges,
    from_cumulative,
    open_top_warning,
    sums_reading,
)
from core.readers.common.cells import plain_number
from core.readers.common.dialect import Dialect
from core.readers.common.drops import Drops
from core.readers.common.exposition import parse_bound
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.requests import Notes, no_rows
from core.readers.common.series import Series, total_of
from core.readers.common.small_table import iter_rows
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

MAX_ROWS = 200_000
_BOUND = re.compile(r"""(?:.*\ble\s*=\s*)?["']?\s*(\+?Inf|[\d.]+(?:e\+?\d+)?)\s*["']?\s*}?$""")
BAD_ROW = "row without numbers"


def detect(head: Head, options: ReadOptions) -> bool:
    dialect = head.dialect
    if dialect is None or not dialect.has_header or len(dialect.names) < 4:
        return False
    return dialect.header_row[0].lower() in ("time", "timestamp") and (
        len(_bounds(dialect)) >= 0.9 * (len(dialect.names) - 1)
    )


def read_grafana(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: bounds only."""
    dialect = head.dialect
    assert dialect is not None
    bounds = _bounds(dialect)
    drops, notes = Drops(), Notes(all_columns=tuple(dialect.header_row))
    table = _table(source, dialect, list(bounds), drops)
    if len(table) == 0:
        raise no_rows(source.name, FORMAT.label, drops)
    order = np.argsort(list(bounds.values()), kind="stable")
    values = table[:, order]
    ends = [list(bounds.values())[i] for i in order]
    counters = bool((values[-1] > values[0]).any()) and all(
        Series("", "", None, column).is_counter for column in values.T
    )
    totals = [total_of(column, counters)[0] for column in values.T]
    along = bool((np.diff(values, axis=1) >= -1e-9).all())
    ranges = _ranges(ends, totals, along)
    what = options.histogram_of if options.histogram_of in ("prompt", "output") else "prompt"
    notes.facts.update(ranges.facts(what))
    notes.warnings += [
        "Cells rise along each row: taken as cumulative buckets." if along
        else "Cells do not rise along each row: taken as counts a bucket.",
        "Columns rise over time: taken as counters." if counters
        else "Columns do not rise over time: rows were added.",
        *open_top_warning(ranges, what),
    ]  # fmt: skip
    say = ["Bucketed counts of a panel: bounds are known, single lengths are not."]
    return sums_reading(FORMAT.name, FORMAT.label, len(table) + drops.total, drops, notes, say)


def _bounds(dialect: Dialect) -> dict[int, float]:
    """{column: upper bound}."""
    found = {}
    for index, name in enumerate(dialect.header_row[1:], 1):
        match = _BOUND.match(name[-80:])
        bound = parse_bound(match[1]) if match else None
        if bound is not None:
            found[index] = bound
    return found


def _table(source: Source, dialect: Dialect, wanted: list[int], drops: Drops) -> np.ndarray:
    rows = []
    for line, cells in iter_rows(source, dialect):
        numbers = [plain_number(cells[i]) if i < len(cells) else None for i in wanted]
        if all(number is None for number in numbers):
            drops.add(BAD_ROW, line)
            continue
        values = [float(number) if number is not None else 0.0 for number in numbers]
        if not all(0 <= value < 1e15 for value in values):
            drops.add(BAD_ROW, line)
            continue
        rows.append(values)
        if len(rows) > MAX_ROWS:
            raise FileContentError(
                f"{source.name}: more than {MAX_ROWS:,} rows of a panel; export a shorter time."
            )
    return np.array(rows)


def _ranges(ends: list[float], totals: list[float], along: bool) -> Ranges:
    if along:
        return from_cumulative(dict(zip(ends, totals, strict=True)))
    below, ranges = 0.0, []
    for end, total in zip(ends, totals, strict=True):
        ranges.append(Range(below, None if np.isinf(end) else end, total))
        below = end
    return Ranges(tuple(ranges))


FORMAT = Format("grafana-csv", "Grafana panel (CSV)", detect, read_grafana, rank=52)
