"""A step a row: a column of batch sizes or running requests, or bare numbers said to be batches."""

from __future__ import annotations

from collections import Counter

from core.readers.common import columns
from core.readers.common.cells import parse_count, plain_number
from core.readers.common.dialect import Dialect
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.requests import no_rows
from core.readers.common.small_table import iter_rows
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Grade, Origin, SizeUnit, StepHistogram

IDLE = "row without a running request"
SAMPLES = (
    "Each row was counted as one step. If rows are samples over time, as of running requests, this "
    "is a coarse picture of step sizes and no count of steps."
)
_RUNNING = ("numrequestsrunning", "numrunningreqs", "runningrequests", "numscheduledrequests")


def detect(head: Head, options: ReadOptions) -> bool:
    dialect = head.dialect
    if dialect is None or not dialect.sample:
        return False
    if len(dialect.names) == 1 and options.histogram_of == "batch":
        return _numbers(dialect, 0)
    index = _column(dialect)
    return index is not None and _numbers(dialect, index)


def read_batch_list(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A. Rows of 0 are idle. Raises FileContentError when no row is left."""
    dialect = head.dialect
    assert dialect is not None
    index = 0 if len(dialect.names) == 1 else _column(dialect)
    assert index is not None
    drops = Drops()
    sizes: Counter[int] = Counter()
    for line, row in iter_rows(source, dialect):
        cell = row[index] if index < len(row) else ""
        size = parse_count(cell, "batch", dialect.decimal)
        if isinstance(size, str) or size < 0:
            drops.add(size if isinstance(size, str) else "batch is below 0", line)
        elif size == 0:
            drops.add(IDLE, line)
        else:
            sizes[size] += 1
    if not sizes:
        raise no_rows(source.name, FORMAT.label, drops)
    name = dialect.header_row[index]
    said = options.histogram_of == "batch" or columns.plain(name).startswith("batch")
    kept = sizes.total()
    return Reading(
        format=FORMAT.name,
        label=FORMAT.label,
        grade=Grade.STEPS,
        rows=kept + drops.total,
        kept=kept,
        steps=StepHistogram.from_mapping(
            sizes,
            unit=SizeUnit.REQUESTS,
            origin=Origin.MEASURED if said else Origin.ESTIMATED,
            source=source.name,
        ),
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        columns={"length": name},
        all_columns=tuple(dialect.header_row),
        warnings=(SAMPLES,),
        facts={"histogram_of": "batch"},
    )


def _column(dialect: Dialect) -> int | None:
    """The column named like a batch, where no other holds tokens or counts."""
    names = dialect.header_row
    if not dialect.has_header or {"prompt_tokens", "output_tokens"} & set(columns.match(names)):
        return None
    if columns.find(names, columns.COUNT):
        return None
    hits = columns.find(names, columns.BATCH)
    hits += [i for i, name in enumerate(names) if columns.plain(name).endswith(_RUNNING)]
    return hits[0] if hits else None


def _numbers(dialect: Dialect, index: int) -> bool:
    cells = [row[index] for row in dialect.sample if index < len(row)]
    good = sum(plain_number(cell, dialect.decimal) is not None for cell in cells)
    return 2 * good > len(cells)


FORMAT = Format("batch-list", "batch sizes, a step a row", detect, read_batch_list, rank=58)
