"""Any CSV or TSV with a row a request: columns by name, by the user's choice, or by position.

A file without a header is mapped by its values; that guess is shown and can be changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import ColumnMappingError
from core.readers.common import columns
from core.readers.common.cells import is_blank, plain_number
from core.readers.common.dialect import Dialect, looks_like_time
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

STATUS_COLUMNS = ("status", "statuscode", "httpstatus", "responsecode", "httpcode", "errorcode")
MODEL_COLUMNS = ("model", "modelname", "modelid")
BIG = 1e5


def is_status(name: str) -> bool:
    """A column of statuses, also with words in front: "predict_status"."""
    return columns.plain(name).endswith(STATUS_COLUMNS)


def failed_status(cell: str) -> str | None:
    """A reason for an HTTP status of 400 or above, or a word for failure."""
    text = cell.strip().lower()
    number = plain_number(text)
    if number is not None and float(number) >= 400:
        return "status says that the request failed"
    if text in ("error", "failure", "failed", "cancelled", "canceled", "timeout", "aborted"):
        return "status says that the request failed"
    return None


def detect(head: Head, options: ReadOptions) -> bool:
    """A table whose columns can be mapped, or that the user has mapped."""
    dialect = head.dialect
    if dialect is None:
        return False
    if not dialect.has_header:
        return _width(dialect) >= 2 and _numeric_columns(dialect) is not None
    if set(options.columns) & {"prompt_tokens", "output_tokens"}:
        return True
    found = columns.match(dialect.header_row, dialect.is_numeric)
    return "prompt_tokens" in found or "output_tokens" in found


def read_plain_csv(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Raises ColumnMappingError when no column can be told for tokens."""
    dialect = head.dialect
    assert dialect is not None
    names = dialect.header_row
    if dialect.has_header:
        found = columns.match(names, dialect.is_numeric)
        mapping = {
            role: names[index] for role, index in found.items() if role not in options.columns
        }
        notes = tuple(columns.rivals(names, found))
    else:
        mapping, notes = guess_by_position(dialect, options.columns, source.name)
    keys = [columns.plain(name) for name in names]
    status = [name for name in names if is_status(name)]
    models = [name for name, key in zip(names, keys, strict=True) if key in MODEL_COLUMNS]
    form = TableFormat(
        FORMAT.name,
        FORMAT.label,
        mapping,
        rules=dict.fromkeys(status, failed_status),
        model_column=models[0] if models else None,
        notes=notes,
    )
    return read_table(source, dialect, form, options)


def guess_by_position(
    dialect: Dialect, said: Mapping[str, str], where: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """({role: "column n"}, the guess in words) for a table without a header.

    The column that never falls and is a time, a fraction or large is the arrival; of the two
    others, the one with the larger median is the prompt.
    """
    names = dialect.names
    if {"prompt_tokens", "output_tokens"} <= set(said):
        return {}, ()
    values = _numeric_columns(dialect)
    assert values is not None
    taken = {columns.index_of(names, name, role, where) for role, name in said.items()}
    free = [i for i in values if i not in taken]
    mapping: dict[str, str] = {}
    open_roles = [r for r in ("prompt_tokens", "output_tokens") if r not in said]
    if "arrival" not in said and len(free) > len(open_roles):
        arrival = next((i for i in free if _is_arrival(dialect, i, values[i])), None)
        if arrival is not None:
            mapping["arrival"] = names[arrival]
            free.remove(arrival)
    if len(free) != len(open_roles):
        raise ColumnMappingError(
            f"{where}: no header, and {len(free)} columns could hold token counts; say which is "
            f"which among {columns.listed(names)}.",
            columns=tuple(names),
        )
    ranked = sorted(free, key=lambda i: -_median(values[i]))
    mapping.update(dict(zip(open_roles, (names[i] for i in ranked), strict=True)))
    guess = ", ".join(f"{columns.label_of(role)} = {name}" for role, name in mapping.items())
    return mapping, (f"No header: columns were guessed by their values ({guess}); check them.",)


def _width(dialect: Dialect) -> int:
    return len(dialect.names)


def _numeric_columns(dialect: Dialect) -> dict[int, list[float]] | None:
    """{column: its first values} of columns of numbers or times; None when a column has neither."""
    result: dict[int, list[float]] = {}
    for index in range(_width(dialect)):
        cells = [row[index] for row in dialect.sample if index < len(row)]
        filled = [cell for cell in cells if not is_blank(cell)]
        numbers = [plain_number(cell, dialect.decimal) for cell in filled]
        good = [float(number) for number in numbers if number is not None]
        times = sum(looks_like_time(cell) for cell in filled)
        if not filled or max(len(good), times) * 2 <= len(filled):
            return None
        result[index] = [] if times > len(good) else good
    return result


def _is_arrival(dialect: Dialect, index: int, values: Sequence[float]) -> bool:
    if not values:
        return True  # a column of dates
    rises = all(a <= b for a, b in zip(values, values[1:], strict=False)) and values[0] < values[-1]
    return rises and (max(values) >= BIG or any(v != int(v) for v in values))


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


FORMAT = Format("plain-csv", "table of requests (CSV or TSV)", detect, read_plain_csv, rank=60)
