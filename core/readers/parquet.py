"""Parquet files with a row a request, read in batches of the needed columns alone.

Nested columns are named by their path, e.g. `usage.prompt_tokens`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from numpy.typing import NDArray

from core.errors import ColumnMappingError, FileContentError
from core.readers.common import columns
from core.readers.common.arrow_columns import arrow_counts, arrow_texts, arrow_times
from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.grow import MAX_ROWS, FloatColumn, IntColumn
from core.readers.common.head import Head
from core.readers.common.reasons import Reasons, add_tally
from core.readers.common.requests import Notes, Requests, requests_reading
from core.readers.common.source import Source
from core.readers.common.table import FAILED, add_models
from core.readers.options import ReadOptions
from core.readers.plain_csv import MODEL_COLUMNS, failed_status, is_status
from core.readers.reading import Reading

MAGIC = b"PAR1"
BATCH_ROWS = 1 << 16
BUFFER_BYTES = 1 << 17
FOOTER_BYTES = 64 << 20
THRIFT_ITEMS = 1_000_000
AZURE_NAMES = {"contexttokens": "prompt_tokens", "generatedtokens": "output_tokens"}


def detect(head: Head, options: ReadOptions) -> bool:
    return head.raw.startswith(MAGIC)


def read_parquet(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Raises FileContentError on a damaged file, ColumnMappingError where no column fits."""
    with source.open_seekable() as stream:
        file = _opened(stream, source.name)
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
        names = [leaf.path for leaf in leaves if leaf.max_repetition_level == 0]
        numeric = {leaf.path for leaf in leaves if leaf.physical_type != "BYTE_ARRAY"}
        roles = _roles(names, numeric, options, source.name)
        return _read(file, names, roles, source.name, options)


def _opened(stream: BinaryIO, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(
            stream,
            thrift_string_size_limit=FOOTER_BYTES,
            thrift_container_size_limit=THRIFT_ITEMS,
            pre_buffer=False,
            buffer_size=BUFFER_BYTES,  # column chunks are streamed, not held
        )
        rows = file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise damaged(name) from error
    if not 0 <= rows <= MAX_ROWS:
        raise FileContentError(
            f"{name}: its footer promises {rows:,} rows, more than {MAX_ROWS:,}; split the file, "
            "or write it again."
        )
    return file


def damaged(name: str) -> FileContentError:
    return FileContentError(
        f"{name}: the Parquet file is damaged or its footer does not fit its content; write it "
        "again."
    )


def _roles(names: list[str], numeric: set[str], options: ReadOptions, where: str) -> dict[str, int]:
    last_words = [name.rsplit(".", 1)[-1] for name in names]
    found = columns.match(last_words, lambda index: names[index] in numeric)
    for index, name in enumerate(names):
        role = AZURE_NAMES.get(columns.plain(name))
        if role:
            found[role] = index
    for role, name in options.columns.items():
        found[role] = columns.index_of(names, name, role, where)
    if "prompt_tokens" not in found and "output_tokens" not in found:
        raise ColumnMappingError(
            f"{where}: a Parquet table, but no column name says what holds prompt or output "
            f"tokens; choose them among {columns.listed(names)}.",
            columns=tuple(names),
        )
    return {r: i for r, i in found.items() if r in ("arrival", "prompt_tokens", "output_tokens")}


def _read(
    file: Any, names: list[str], roles: dict[str, int], where: str, options: ReadOptions
) -> Reading:
    leaves = {columns.plain(name): name for name in names}
    model = next((leaves[key] for key in MODEL_COLUMNS if key in leaves), None)
    status = [name for name in names if is_status(name)]
    unit = columns.unit_in_name(names[roles["arrival"]]) if "arrival" in roles else None
    state = _State(
        roles, Clock(options.time_unit, unit), model, status, options.model, file.metadata.num_rows
    )
    wanted = [names[i] for i in roles.values()] + [n for n in (model, *status) if n]
    for batch in _batches(file, sorted(set(wanted)), where):
        state.add({name: _leaf(batch, name) for name in wanted}, names, batch.num_rows)
    if state.rows != file.metadata.num_rows:
        raise damaged(where)
    notes = Notes(columns={r: names[i] for r, i in roles.items()}, all_columns=tuple(names))
    if "arrival" in roles:
        notes.facts["time_unit"] = state.clock.description
        notes.warnings += state.clock.warnings
    if model:
        add_models(notes, state.tally)
    return requests_reading(
        FORMAT.name, FORMAT.label, where, state.finish(), state.drops, notes, options
    )


def _batches(file: Any, wanted: list[str], where: str) -> Iterator[Any]:
    """Batches of the wanted columns; the next one is decoded while the last one is used."""
    import pyarrow as pa

    try:
        batches = file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False)
        with ThreadPoolExecutor(1) as pool:
            ahead = pool.submit(next, batches, None)
            while (batch := ahead.result()) is not None:
                ahead = pool.submit(next, batches, None)
                yield batch
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise damaged(where) from error


def _leaf(batch: Any, name: str) -> Any:
    """The array of a column, or of a field in a struct."""
    import pyarrow.compute as pc

    if name in batch.schema.names:
        return batch.column(name)
    first, *fields = name.split(".")
    array = batch.column(first)
    for field in fields:
        array = pc.struct_field(array, field)  # type: ignore[attr-defined]
    return array


class _State:
    """What batches add up to."""

    def __init__(
        self,
        roles: dict[str, int],
        clock: Clock,
        model: str | None,
        status: list[str],
        only: str | None,
        rows: int,
    ) -> None:
        self.roles, self.clock, self.model, self.status = roles, clock, model, status
        self.only = only
        self.drops = Drops()
        self.tally: dict[str, int] = {}
        self._ints = {role: IntColumn(rows) for role in roles if role != "arrival"}
        self._arrival = FloatColumn(rows if "arrival" in roles else 0)
        self._row = 1

    def add(self, arrays: dict[str, Any], names: list[str], rows: int) -> None:
        """One batch."""
        reasons = Reasons(rows)
        self._texts(arrays, reasons)
        values: dict[str, NDArray[Any]] = {}
        for role, index in self.roles.items():
            if role != "arrival":
                values[role] = arrow_counts(arrays[names[index]], role, reasons, FAILED)
        arrival = None
        if "arrival" in self.roles:
            arrival = arrow_times(arrays[names[self.roles["arrival"]]], self.clock, reasons)
        keep = reasons.settle(self._row, self.drops)
        self._row += rows
        for role, array in values.items():
            self._ints[role].add(array if keep is None else array[keep])
        if arrival is not None:
            self._arrival.add(arrival if keep is None else arrival[keep])

    def _texts(self, arrays: dict[str, Any], reasons: Reasons) -> None:
        for name in self.status:
            reasons.by_text(arrow_texts(arrays[name]), failed_status)
        if self.model:
            texts = arrow_texts(arrays[self.model])
            add_tally(texts, self.tally)
            if self.only is not None:
                wanted = self.only
                reasons.by_text(texts, lambda cell: None if cell == wanted else "another model")

    @property
    def rows(self) -> int:
        return self._row - 1

    def finish(self) -> Requests:
        done = {role: column.finish() for role, column in self._ints.items()}
        arrival = self._arrival.finish() if "arrival" in self.roles else None
        return Requests(done.get("prompt_tokens"), done.get("output_tokens"), arrival)


FORMAT = Format("parquet", "Parquet table", detect, read_parquet, rank=2)
