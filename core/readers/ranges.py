"""Counts in ranges: "0-127,34", "lo,hi,count", "(1024, 2048]", "<=512", "8192+", cumulative tables.

Which ends belong to a range is stated: labels like 0-127 followed by 128-255 hold both ends; rows
like 0,128 then 128,256 hold the lower end alone.
"""

from __future__ import annotations

import math
import re

from core.errors import FileContentError
from core.readers.common import columns
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
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.range_labels import parse_label
from core.readers.common.requests import Notes, no_rows
from core.readers.common.small_table import iter_rows
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

LOW = ("lo", "low", "lower", "from", "start", "begin", "minlength", "lowerbound", "lo(inclusive)")
HIGH = ("hi", "high", "upper", "to", "end", "stop", "maxlength", "upperbound")
CUMULATIVE = ("cumulative", "cumulativecount", "cumcount", "cdf", "ecdf", "le")
BAD_LABEL = "range cannot be read"
BAD_COUNT = "count is not a number"
_LABEL_NAMES = (*columns.LENGTH, "range", "bin", "lengthrange", "tokenrange", "le", "tokensrange")
_COUNT_NAMES = (*columns.COUNT, "value", *CUMULATIVE)


def detect(head: Head, options: ReadOptions) -> bool:
    dialect = head.dialect
    if dialect is None or not dialect.sample or len(dialect.names) not in (2, 3):
        return False
    if _bound_columns(dialect) is not None or _cumulative_columns(dialect) is not None:
        return True
    labels = [parse_label(row[0]) for row in dialect.sample if len(row) >= 2]
    cells = [row[0] for row in dialect.sample if row]
    plain = sum(plain_number(cell, dialect.decimal) is not None for cell in cells)
    return (
        len(labels) > 0
        and 2 * sum(x is not None for x in labels) > len(labels)
        and (plain * 2 < len(dialect.sample))
    )


def read_ranges(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: bounds only. Raises FileContentError when nothing can be read."""
    dialect = head.dialect
    assert dialect is not None
    drops, notes = Drops(), Notes(all_columns=tuple(dialect.header_row))
    what = options.histogram_of if options.histogram_of in ("prompt", "output") else "prompt"
    bounds, cumulative = _bound_columns(dialect), _cumulative_columns(dialect)
    if cumulative is not None:
        ranges, rows = _cumulative(source, dialect, cumulative, drops, notes)
    else:
        found = _pairs(source, dialect, bounds, drops)
        rows = len(found)
        ranges = _joined(found, notes)
    if not ranges.ranges:
        raise no_rows(source.name, FORMAT.label, drops)
    if _overlap(ranges):
        raise FileContentError(f"{source.name}: ranges overlap; give each length one range.")
    notes.facts.update(ranges.facts(what))
    notes.warnings += open_top_warning(ranges, what)
    say = ["Ranges of lengths: bounds are known, single lengths are not, so none is drawn."]
    return sums_reading(FORMAT.name, FORMAT.label, rows + drops.total, drops, notes, say)


def _bound_columns(dialect: Dialect) -> tuple[int, int, int] | None:
    keys = [columns.plain(name) for name in dialect.header_row]
    low = next((i for i, key in enumerate(keys) if key in LOW), None)
    high = next((i for i, key in enumerate(keys) if key in HIGH), None)
    count = columns.find(dialect.header_row, columns.COUNT)
    if not dialect.has_header or low is None or high is None or not count:
        return None
    return low, high, count[0]


def _cumulative_columns(dialect: Dialect) -> tuple[int, int] | None:
    """(bound, cumulative count): by a column's name, or by a last bound of +Inf."""
    if len(dialect.names) != 2:
        return None
    keys = [columns.plain(name) for name in dialect.header_row]
    named = [i for i, key in enumerate(keys) if key in CUMULATIVE and key != "le"]
    if dialect.has_header and named:
        return 1 - named[0], named[0]
    last = dialect.sample[-1] if dialect.sample else ()
    if keys[0] == "le" or (last and last[0].strip().strip('"').lower() in ("+inf", "inf")):
        return 0, 1
    return None


def _cumulative(
    source: Source, dialect: Dialect, where: tuple[int, int], drops: Drops, notes: Notes
) -> tuple[Ranges, int]:
    values: dict[float, float] = {}
    for line, row in iter_rows(source, dialect):
        bound = _float(row[where[0]].lstrip("<=") if where[0] < len(row) else "")
        value = _float(row[where[1]].rstrip("% ") if where[1] < len(row) else "")
        if bound is None or bound <= 0:
            drops.add(BAD_LABEL, line)
        elif value is None or not 0 <= value < 1e15:
            drops.add(BAD_COUNT, line)
        else:
            values[bound] = value
    top = max(values.values(), default=0.0)
    share = any(v != int(v) for v in values.values()) or top in (1.0, 100.0)
    notes.warnings.append("Counts are cumulative: each was taken off the one after it.")
    if share:
        notes.warnings.append("The counts are shares: the number of requests is unknown.")
    ranges = from_cumulative(values)
    return Ranges(ranges.ranges, None, share), len(values)


def _pairs(
    source: Source, dialect: Dialect, bounds: tuple[int, int, int] | None, drops: Drops
) -> list[tuple[float, float, str, float]]:
    """(low, high, which ends, count) a row."""
    found = []
    for line, row in iter_rows(source, dialect):
        if bounds is not None:
            low, high = (_float(row[i]) if i < len(row) else None for i in bounds[:2])
            if high is None and bounds[1] < len(row) and not row[bounds[1]]:
                high = math.inf
            label = None if low is None or high is None else (low, high, "?")
            text = row[bounds[2]] if bounds[2] < len(row) else ""
        else:
            label, text = parse_label(row[0]), row[-1] if len(row) > 1 else ""
        count = _float(text.rstrip("% "))
        if label is None or label[0] > label[1] or label[0] < 0:
            drops.add(BAD_LABEL, line)
        elif count is None or not 0 <= count < 1e15:
            drops.add(BAD_COUNT, line)
        else:
            found.append((*label, count))
    return sorted(found)


def _joined(found: list[tuple[float, float, str, float]], notes: Notes) -> Ranges:
    """Ranges with their ends settled: touching rows are half open, others hold both ends."""
    touching = any(a[1] == b[0] for a, b in zip(found, found[1:], strict=False))
    default = "[)" if touching else "[]"
    ranges = []
    for low, high, ends, count in found:
        ends = default if ends == "?" else ends
        above = low if ends[0] == "(" else max(math.ceil(low) - 1, 0)  # no length is 0
        up_to: float | None = (
            high if ends[1] == "]" else math.ceil(high) - 1 if high < math.inf else high
        )
        up_to = None if up_to is None or math.isinf(up_to) else up_to
        whole = int(count) if count == int(count) else count
        ranges.append(Range(above, up_to, whole))
    if ranges:
        words = "both ends belong to a range" if default == "[]" else "a range holds its lower end"
        notes.warnings.append(f"Read so that {words}.")
    share = any(r.count != int(r.count) for r in ranges)
    if share:
        notes.warnings.append("The counts are shares: the number of requests is unknown.")
    return Ranges(tuple(ranges), None, share)


def _overlap(ranges: Ranges) -> bool:
    pairs = zip(ranges.ranges, ranges.ranges[1:], strict=False)
    return any(a.up_to is None or a.up_to > b.above for a, b in pairs)


def _float(text: str) -> float | None:
    cleaned = text.strip().strip('"')
    if re.fullmatch(r"\+?[Ii]nf(inity)?", cleaned):
        return math.inf
    number = plain_number(cleaned)
    return None if number is None else float(number)


FORMAT = Format("ranges", "histogram of ranges", detect, read_ranges, rank=54)
