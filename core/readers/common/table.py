"""Any table of requests -> a Reading, by the columns that a format or the user names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.errors import ColumnMappingError
from core.readers.common import columns
from core.readers.common.block_parser import BlockParser
from core.readers.common.blocks import TextRule, Wanted, iter_blocks
from core.readers.common.clock import Clock
from core.readers.common.dialect import Dialect
from core.readers.common.drops import Drops
from core.readers.common.grow import FloatColumn, IntColumn
from core.readers.common.requests import Notes, Requests, requests_reading
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

FAILED = "output tokens is 0 (failed or rejected request)"


@dataclass(frozen=True)
class TableFormat:
    """How a table of requests is read.

    column_map : {our name: column of the file}
    time_unit : unit of numeric arrivals where the format fixes it
    rules : {column: rule}, texts that leave a row out; columns that are missing are ignored
    model_column : column that ReadOptions.model filters by
    notes : sentences that hold for every file of the format
    """

    name: str
    label: str
    column_map: Mapping[str, str]
    time_unit: str | None = None
    rules: Mapping[str, TextRule] = field(default_factory=dict)
    model_column: str | None = None
    notes: tuple[str, ...] = ()


def read_table(
    source: Source, dialect: Dialect, form: TableFormat, options: ReadOptions
) -> Reading:
    """Read requests in blocks. Raises ColumnMappingError when a column does not exist."""
    names = dialect.header_row
    chosen = _chosen(names, form, options, source.name)
    wanted = _wanted(names, chosen, form, options)
    drops = Drops()
    size = 0 if source.is_packed else source.size or 0
    parser = BlockParser(dialect, wanted, drops, size)
    expected = size // _row_bytes(dialect)
    ints = {role: IntColumn(expected) for role in wanted.counts}
    arrivals = FloatColumn(expected) if wanted.arrival is not None else None
    with source.open() as stream:
        for part in parser.parse_all(iter_blocks(stream, dialect.first_line, source.name)):
            for role, values in part.counts.items():
                ints[role].add(values)
            if arrivals is not None and part.arrival_s is not None:
                arrivals.add(part.arrival_s)
    done = {role: column.finish() for role, column in ints.items()}
    requests = Requests(
        done.get("prompt_tokens"),
        done.get("output_tokens"),
        None if arrivals is None else arrivals.finish(),
    )
    notes = _notes(form, dialect, chosen, wanted, parser)
    return requests_reading(form.name, form.label, source.name, requests, drops, notes, options)


def _chosen(
    names: list[str], form: TableFormat, options: ReadOptions, where: str
) -> dict[str, int]:
    """{role: column index}: what the user says, else what the format says."""
    chosen = {}
    for role, name in {**form.column_map, **options.columns}.items():
        if role in ("arrival", "prompt_tokens", "output_tokens") and name:
            chosen[role] = columns.index_of(names, name, role, where)
    if "prompt_tokens" not in chosen and "output_tokens" not in chosen:
        raise ColumnMappingError(
            f"{where}: no column says how many prompt or output tokens a request has; "
            f"choose them among {columns.listed(names)}.",
            columns=tuple(names),
        )
    return chosen


def _wanted(
    names: list[str], chosen: dict[str, int], form: TableFormat, options: ReadOptions
) -> Wanted:
    counts = {role: (index, 1) for role, index in chosen.items() if role != "arrival"}
    wanted = Wanted(counts, chosen.get("arrival"))
    wanted.zero_reasons = {"output_tokens": FAILED}
    if wanted.arrival is not None:
        known = form.time_unit or columns.unit_in_name(names[wanted.arrival])
        wanted.clock = Clock(options.time_unit, known)
    wanted.rules = [(names.index(c), rule) for c, rule in form.rules.items() if c in names]
    if form.model_column in names:
        index = names.index(str(form.model_column))
        wanted.tally[index] = {}
        if options.model is not None:
            wanted.rules.insert(0, (index, _only(options.model)))
    return wanted


def _row_bytes(dialect: Dialect) -> int:
    """Bytes of a row by the first ones, taken low."""
    widths = [sum(len(cell) + 1 for cell in row) for row in dialect.sample]
    return max(2, int(0.9 * sum(widths) / len(widths))) if widths else 32


def _only(model: str) -> TextRule:
    return lambda cell: None if cell.strip() == model else "another model"


def _notes(
    form: TableFormat,
    dialect: Dialect,
    chosen: dict[str, int],
    wanted: Wanted,
    parser: BlockParser,
) -> Notes:
    names = dialect.header_row
    notes = Notes(
        warnings=list(form.notes),
        columns={role: names[index] for role, index in chosen.items()},
        all_columns=tuple(names),
    )
    if wanted.arrival is not None:
        notes.facts["time_unit"] = wanted.clock.description
        notes.warnings += wanted.clock.warnings
    if parser.comments:
        notes.facts["comment_lines"] = parser.comments
    notes.warnings += filter(None, [parser.open_quotes.warning()])
    for tally in wanted.tally.values():
        add_models(notes, tally)
    return notes


def add_models(notes: Notes, tally: Mapping[str, int]) -> None:
    """Say which models a file holds; several are a warning, since each has its own traffic."""
    ranked = dict(sorted(tally.items(), key=lambda item: -item[1])[:50])
    notes.facts["models"] = ranked
    if len(ranked) > 1:
        listed = ", ".join(f"{name} ({rows:,})" for name, rows in list(ranked.items())[:4])
        notes.warnings.append(f"The file holds several models: {listed}; choose one to tune for.")
