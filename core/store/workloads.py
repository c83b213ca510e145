"""A reading as content-addressed bytes: Parquet for its numbers, JSON for its account.

Nothing of the file but numbers is kept, and what core.store.kept_texts lets through: our own words.

For the database alone: a forged Parquet footer can end the process inside the decoder, so what
comes from outside travels as core.store.workload_json writes it.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import RecordError
from core.readers.reading import Reading
from core.records.session_json import canonical, parse_json
from core.store.kept_texts import without_file_texts
from core.store.workload_account import account_of, arrays_of, reading_from
from core.store.workload_json import (
    DAMAGED,
    MAX_ACCOUNT_BYTES,
    MAX_PACKED_BYTES,
    MAX_PLAIN_BYTES,
    MAX_ROWS,
    check_digest,
    digest_of_parts,
    inflated,
)

BATCH_ROWS = 1 << 17
_META_KEY = b"bucketwise"


def stored_form(reading: Reading) -> Reading:
    """The reading as it comes back from the store: without the names that the file chose, and
    without the lines of a log, which are the file's too (its figures stay in `facts`)."""
    return replace(without_file_texts(reading), log=None)


def workload_digest(reading: Reading) -> str:
    """64 hex digits that name the content; the same on every installation.

    Taken over the account and the arrays, not over the packed bytes, so that another version of
    the Parquet writer gives the same name.
    """
    return digest_of_parts(account_of(reading), arrays_of(reading))


def workload_to_bytes(reading: Reading) -> tuple[str, bytes]:
    """(digest, gzipped Parquet).

    Raises RecordError where the reading is larger than a store takes.
    """
    account, arrays = account_of(reading), arrays_of(reading)
    rows = max((len(array) for array in arrays.values()), default=0)
    if rows > MAX_ROWS:
        raise RecordError(f"The workload has {rows:,} rows; a session keeps {MAX_ROWS:,} at most.")
    data = gzip.compress(_parquet(account, arrays, rows), compresslevel=6, mtime=0)
    if len(data) > MAX_PACKED_BYTES:
        raise RecordError(
            f"The workload takes {len(data) >> 20} MiB packed; a session keeps "
            f"{MAX_PACKED_BYTES >> 20} MiB at most. Upload a shorter part of the trace."
        )
    return digest_of_parts(account, arrays), data


def workload_from_bytes(data: bytes, digest: str | None = None) -> Reading:
    """What `workload_to_bytes` packed; the content must have the digest, where one is given.

    Raises RecordError on anything else, oversize and inflate bombs included.
    """
    if len(data) > MAX_PACKED_BYTES:
        raise RecordError(f"{DAMAGED}: more than {MAX_PACKED_BYTES >> 20} MiB packed.")
    made = reading_from(*_unpacked(inflated(data, MAX_PLAIN_BYTES)))
    if digest is not None:
        check_digest(made, digest)
    return made


def _parquet(account: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], rows: int) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    counts = {name: len(array) for name, array in arrays.items()}
    columns = {
        # Shorter columns are filled up with nulls, which take no room.
        name: pa.chunked_array([pa.array(array), pa.nulls(rows - len(array), pa.array(array).type)])
        for name, array in arrays.items()
    }
    note = canonical({"account": account, "counts": counts}).encode()
    if len(note) > MAX_ACCOUNT_BYTES:
        raise RecordError(
            f"The workload's account takes {len(note) >> 20} MiB; at most 4 are kept."
        )
    table = pa.table(columns)
    encodings = {
        name: "BYTE_STREAM_SPLIT" if array.dtype.kind == "f" else "DELTA_BINARY_PACKED"
        for name, array in arrays.items()
    }
    sink = io.BytesIO()
    # No compression inside: the gzip around it packs as well, and is inflated with a limit.
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="none",
        use_dictionary=False,
        column_encoding=encodings or None,
        store_schema=False,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_META_KEY: note})
    return sink.getvalue()


def _unpacked(plain: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(
            pa.BufferReader(plain),
            thrift_string_size_limit=MAX_ACCOUNT_BYTES + 1024,
            thrift_container_size_limit=100_000,
        )
        note = _note(file)
        _check_shape(file, note["counts"])
        return note["account"], _columns(file, note["counts"])
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise RecordError(f"{DAMAGED}: {str(error).splitlines()[0][:200]}.") from error


def _note(file: Any) -> dict[str, Any]:
    text = (file.metadata.metadata or {}).get(_META_KEY)
    if text is None:
        raise RecordError(f"{DAMAGED}: it does not say what it holds.")
    note = parse_json(text, "The workload's account")
    good = isinstance(note, dict) and set(note) == {"account", "counts"}
    good = good and all(isinstance(part, dict) for part in note.values())
    if not good or not all(type(count) is int and count >= 0 for count in note["counts"].values()):
        raise RecordError(f"{DAMAGED}: its account does not have the expected parts.")
    return note


def _check_shape(file: Any, counts: Mapping[str, int]) -> None:
    meta = file.metadata
    if meta.num_rows > MAX_ROWS:
        raise RecordError(f"{DAMAGED}: {meta.num_rows:,} rows; at most {MAX_ROWS:,}.")
    if sorted(file.schema_arrow.names) != sorted(counts) or meta.num_columns != len(counts):
        raise RecordError(f"{DAMAGED}: its columns are not those of its account.")
    if max(counts.values(), default=0) != meta.num_rows:
        raise RecordError(f"{DAMAGED}: it has {meta.num_rows} rows, its account says otherwise.")


def _columns(file: Any, counts: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in counts}
    seen = 0
    for batch in _batches(file):
        for name, count in counts.items():
            column = batch.column(name)
            wanted = min(max(count - seen, 0), len(column))
            if column[:wanted].null_count or column[wanted:].null_count != len(column) - wanted:
                raise RecordError(f"{DAMAGED}: column {name!r} has gaps.")
            parts[name].append(column[:wanted].to_numpy(zero_copy_only=False))
        seen += len(batch)
    if seen != file.metadata.num_rows:
        raise RecordError(f"{DAMAGED}: {seen} rows were found, {file.metadata.num_rows} are named.")
    types = {field.name: field.type.to_pandas_dtype() for field in file.schema_arrow}
    return {
        name: np.concatenate(found) if found else np.empty(0, types[name])
        for name, found in parts.items()
    }


def _batches(file: Any) -> Iterator[Any]:
    # In batches, so that a column that claims more values than it should is met early.
    seen = 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS):
        seen += len(batch)
        if seen > MAX_ROWS:
            raise RecordError(f"{DAMAGED}: more than {MAX_ROWS:,} rows.")
        yield batch
