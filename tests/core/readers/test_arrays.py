"""NumPy, Parquet, JSON arrays, plain numbers."""

from __future__ import annotations

import io
import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import ColumnMappingError, FileContentError, UnknownFormatError
from core.readers import ReadOptions, read
from core.records import Grade


def npy(array: np.ndarray, **kwargs) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **kwargs)
    return out.getvalue()


PAIRS = np.array([[10, 3], [20, 4], [30, 5]])


@pytest.mark.parametrize(
    "array",
    [
        PAIRS,
        PAIRS.astype(">i8"),
        PAIRS.astype("<u2"),
        PAIRS.astype(np.float32),
        np.asfortranarray(PAIRS),
    ],
    ids=["int64", "big-endian", "uint16", "float32", "fortran"],
)
def test_npy_of_any_number_type_and_order(array: np.ndarray) -> None:
    """Byte order, width, floats and Fortran order give the same pairs."""
    trace = read(npy(array)).trace
    assert trace is not None and trace.prompt_tokens.tolist() == [10, 20, 30]
    assert trace.output_tokens.tolist() == [3, 4, 5]


def test_npy_with_arrivals_and_bad_rows() -> None:
    """n x 3 has arrivals in front; fractions, blanks, zeros and infinities are counted."""
    rows = [[0, 5, 1], [1.5, 6, 2], [2, np.nan, 1], [3, 5.5, 1], [4, 5, 0], [np.inf, 5, 1],
            [5, 1e30, 1], [6, -1, 1]]  # fmt: skip
    reading = read(npy(np.array(rows)))
    assert reading.grade is Grade.REQUESTS and reading.trace is not None
    assert reading.trace.duration_s == 1.5 and reading.kept == 2
    assert len(reading.dropped) == 6 and reading.rows == 8


def test_npy_refusals() -> None:
    """Object arrays, odd shapes, texts and lying headers are one sentence each."""
    with pytest.raises(UnknownFormatError, match="pickle"):
        read(npy(np.array([{"a": 1}], dtype=object), allow_pickle=True))
    with pytest.raises(FileContentError, match="shape 2 x 4"):
        read(npy(np.ones((2, 4))))
    with pytest.raises(FileContentError, match="no plain numbers"):
        read(npy(np.array(["a"])))
    with pytest.raises(FileContentError, match="no plain numbers"):
        read(npy(np.zeros(2, [("a", "i4")])))
    honest = npy(np.arange(1000, dtype=np.int64))
    with pytest.raises(FileContentError, match="promises 1,000 numbers"):
        read(honest[:-8])
    with pytest.raises(FileContentError, match="promises 99"):
        read(honest.replace(b"(1000,)", b"(99999)"))


def test_npz_lets_the_user_choose() -> None:
    """The first array is read and the others are named; an object array inside is refused."""
    out = io.BytesIO()
    np.savez_compressed(out, lengths=np.array([5, 6, 7]), pairs=PAIRS)
    reading = read(out.getvalue())
    assert sorted(reading.facts["parts"]) == ["lengths", "pairs"]
    chosen = read(out.getvalue(), options=ReadOptions(part="pairs"))
    assert chosen.trace is not None and chosen.trace.prompt_tokens.tolist() == [10, 20, 30]
    out = io.BytesIO()
    np.savez(out, bad=np.array([print], dtype=object))
    with pytest.raises(UnknownFormatError, match="never"):
        read(out.getvalue())


class Bomb:
    def __reduce__(self):
        return (eval, ("1/0",))


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickles_are_never_loaded(protocol: int) -> None:
    """A pickle is answered by name; nothing in it runs."""
    with pytest.raises(UnknownFormatError, match="pickle"):
        read(pickle.dumps({"lengths": Bomb()}, protocol))


def parquet(table: pa.Table, **kwargs) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **kwargs)
    return out.getvalue()


def test_parquet_nested_usage_and_nulls() -> None:
    """A struct's fields are columns; nulls are counted; texts beside them are not read."""
    pairs = [(5, 2), (None, 2), None, (7, 0)]
    usage = [p and {"prompt_tokens": p[0], "completion_tokens": p[1]} for p in pairs]
    table = pa.table({"created": [1, 2, 3, 4], "usage": usage, "prompt": ["secret"] * 4})
    reading = read(parquet(table))
    assert reading.kept == 1 and reading.columns["prompt_tokens"] == "usage.prompt_tokens"
    assert reading.dropped == {
        "prompt tokens is blank": 2, "output tokens is 0 (failed or rejected request)": 1,
    }  # fmt: skip
    assert "secret" not in repr(reading)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_parquet_times(unit: str, zone: str | None) -> None:
    """Timestamps of every unit, with and without a zone, with nulls."""
    times = pa.array([1700000000, None, 1700000002], pa.int64()).cast(pa.timestamp("s"))
    column = times.cast(pa.timestamp(unit, zone))
    table = pa.table({"ts": column, "prompt_tokens": [1, 2, 3], "output_tokens": [1, 1, 1]})
    reading = read(parquet(table))
    assert reading.trace is not None and reading.trace.duration_s == 2.0
    assert reading.dropped == {"arrival is blank": 1}


def test_parquet_texts_dictionaries_and_decimals() -> None:
    """Numbers as texts, dictionary-coded or decimal, are numbers; models can be chosen."""
    from decimal import Decimal

    table = pa.table(
        {
            "prompt_tokens": pa.array(["5", "x", "7"]).dictionary_encode(),
            "output_tokens": pa.array([Decimal("2"), Decimal("3"), Decimal("4")]),
            "time": ["2026-01-01 00:00:00", "2026-01-01 00:00:01", "2026-01-01 00:00:03"],
            "model": ["a", "a", "b"],
        }
    )
    reading = read(parquet(table))
    assert reading.trace is not None and reading.trace.prompt_tokens.tolist() == [5, 7]
    assert reading.trace.duration_s == 3.0
    assert reading.dropped == {"prompt tokens is not a number": 1}
    assert read(parquet(table), options=ReadOptions(model="b")).kept == 1


def test_parquet_refusals() -> None:
    """Columns that cannot be lengths, lists, and damaged files are one sentence each."""
    with pytest.raises(ColumnMappingError, match="choose them among 'total_tokens'"):
        read(parquet(pa.table({"total_tokens": [1], "max_tokens": [2]})))
    lists = pa.table({"prompt_tokens": [[1, 2]], "output_tokens": [[1]]})
    with pytest.raises(ColumnMappingError):
        read(parquet(lists))
    flags = pa.table({"prompt_tokens": [True], "output_tokens": [1]})
    with pytest.raises(ColumnMappingError, match="bool"):
        read(parquet(flags))
    good = parquet(pa.table({"prompt_tokens": [1] * 100, "output_tokens": [2] * 100}))
    for bad in (good[:-20], good[: len(good) // 2] + good[-8:], good[:4] + b"\0" * 40 + good[-8:]):
        with pytest.raises(FileContentError, match="damaged"):
            read(bad)


def test_json_shapes() -> None:
    """Arrays of numbers and pairs, {length: count}, lists of objects, columns of one object."""
    assert read(b"[12, 50, 12]").prompt_lengths.counts.tolist() == [2, 1]  # type: ignore[union-attr]
    pairs = read(b"[[374, 44], [396, 109], [1, null]]")
    assert pairs.trace is not None and pairs.trace.output_tokens.tolist() == [44, 109]
    assert pairs.dropped == {"output tokens is blank": 1}
    counts = read(b'{"25": 88, "17": 1203, "9": 0}')
    assert counts.prompt_lengths is not None
    assert counts.prompt_lengths.lengths.tolist() == [17, 25]
    assert counts.dropped == {"count is 0": 1}
    batches = read(b'[{"batch": 4, "count": 10}, {"batch": 8, "count": 5}]')
    assert batches.steps is not None and batches.steps.total_steps == 15
    objects = read(b'[{"input_tokens": 5, "output_tokens": 6, "ts": 1}]')
    assert objects.grade is Grade.REQUESTS
    columns = read(b'{"prompt_lens": [1], "input_tokens": [5, 6], "output_tokens": [7, 8]}')
    assert columns.trace is not None and columns.trace.prompt_tokens.tolist() == [5, 6]


def test_json_keys_are_remapped_and_missing_ones_named() -> None:
    """Any key can be chosen, also a nested one; without a fitting one the user is asked."""
    rows = "\n".join(json.dumps({"a": {"x": i + 1}, "b": 2, "note": "secret"}) for i in range(3))
    options = ReadOptions(columns={"prompt_tokens": "a.x", "output_tokens": "b"})
    reading = read(rows.encode(), options=options)
    assert reading.trace is not None and reading.trace.prompt_tokens.tolist() == [1, 2, 3]
    with pytest.raises(ColumnMappingError, match="'a.x'"):
        read(b'{"prompt_tokens": 1, "a": {"x": 2}}\n' * 2)
    with pytest.raises(UnknownFormatError, match="keys 'a', 'b', 'note'"):
        read(rows.encode())


def test_numbers_one_a_line() -> None:
    """Plain numbers are lengths, with or without a word above; outputs if the user says so."""
    assert read(b"5\n7\n5\n").prompt_lengths.counts.tolist() == [2, 1]  # type: ignore[union-attr]
    named = read(b"tokens\n5\n7\nx\n", options=ReadOptions(histogram_of="output"))
    assert named.output_lengths is not None and named.output_lengths.total == 2
    assert named.dropped == {"output tokens is not a number": 1}
