"""Workloads as bytes: exact both ways, named by content, refused when they are anything else."""

from __future__ import annotations

import copy
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ProjectError, RecordError
from core.readers import read
from core.readers.reading import Reading
from core.records import SizeUnit, StepHistogram
from core.store import workload_json, workloads
from core.store.workload_account import account_of
from core.store.workload_json import inflated, workload_from_json, workload_to_json
from core.store.workloads import (
    stored_form,
    workload_digest,
    workload_from_bytes,
    workload_to_bytes,
)
from tests.conftest import DATA
from tests.core.store.session_cases import READING, readings, same, spots

FILES = [
    path
    for folder in ("traces", "engine_logs", "engine_runs")
    for path in sorted((DATA / folder).iterdir())
    if path.suffix not in (".md", ".py") and not path.name.startswith("expected")
]


@given(readings())
def test_readings_survive_exactly(reading: Reading) -> None:
    """Every number and every word of the account comes back, arrays by type and bit."""
    digest, data = workload_to_bytes(reading)
    back = workload_from_bytes(data, digest)
    assert same(back, stored_form(reading))
    assert digest == workload_digest(reading) == workload_digest(back)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_kind_of_file_survives(path: Path) -> None:
    """What the readers make of real files comes back the same."""
    reading = read(path)
    digest, data = workload_to_bytes(reading)
    assert same(workload_from_bytes(data, digest), stored_form(reading))


def test_steps_that_only_decode_are_kept_as_such() -> None:
    """The word comes back; without it the account, and so its name, is what it was before."""
    steps = StepHistogram.from_batches([8, 16], unit=SizeUnit.TOKENS)
    counted = replace(READING, steps=steps)
    decoding = replace(READING, steps=replace(steps, decode_only=True))
    digest, data = workload_to_bytes(decoding)
    back = workload_from_bytes(data, digest).steps
    assert back is not None and back.decode_only
    assert "decode_only" not in account_of(counted)["parts"]["steps"]
    forged = workload_to_json(decoding)
    forged["account"]["parts"]["steps"]["decode_only"] = "yes"
    with pytest.raises(RecordError, match=r"steps\.decode_only"):
        workload_from_json(forged)


@given(readings())
def test_readings_survive_as_json(reading: Reading) -> None:
    """What travels in a file is as exact, and has the same name."""
    text = json.dumps(workload_to_json(reading), allow_nan=False)
    back = workload_from_json(json.loads(text))
    assert same(back, stored_form(reading))
    assert json.loads(text)["digest"] == workload_digest(reading)


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_damaged_bytes_are_refused(where: int, byte: int) -> None:
    """With any byte changed, it is the same content or it is refused."""
    digest, data = workload_to_bytes(READING)
    damaged = bytearray(data)
    damaged[where % len(data)] = byte
    try:
        back = workload_from_bytes(bytes(damaged), digest)
    except ProjectError as error:
        assert str(error)
    else:
        assert same(back, stored_form(READING))


def test_the_name_is_that_of_the_content() -> None:
    """One token more is another workload; the unused columns' names do not count."""
    trace = READING.trace
    assert trace is not None
    more = replace(READING, trace=replace(trace, output_tokens=np.array([1, 2, 4])))
    assert workload_digest(more) != workload_digest(READING)
    assert workload_digest(replace(READING, all_columns=())) == workload_digest(READING)


def test_nothing_but_numbers_of_an_upload_is_kept(tmp_path: Path) -> None:
    """Prompts, outputs, keys and the names of columns that were not used are not stored."""
    path = tmp_path / "private.csv"
    rows = [f'{i},{10 + i},{20 + i},"My secret {i}",sk-key-{i}' for i in range(50)]
    head = "timestamp,prompt_tokens,output_tokens,secret_prompt,api_key"
    path.write_text("\n".join([head, *rows]) + "\n")
    reading = read(path)
    assert reading.kept == 50 and "secret_prompt" in reading.all_columns
    plain = gzip.decompress(workload_to_bytes(reading)[1])
    for word in (b"secret", b"sk-key", b"api_key"):
        assert word not in plain


def test_a_workload_is_small() -> None:
    """100,000 requests take less than 13 bytes each, 24 of which their numbers have."""
    draw = np.random.default_rng(0)
    n = 100_000
    arrival = np.round(np.cumsum(draw.exponential(0.1, n)), 3)
    prompt, output = draw.integers(1, 4096, n), draw.integers(1, 1024, n)
    assert READING.trace is not None
    trace = replace(READING.trace, prompt_tokens=prompt, output_tokens=output, arrival_s=arrival)
    digest, data = workload_to_bytes(replace(READING, rows=n + 1, kept=n, trace=trace))
    assert len(data) < 13 * n
    assert same(workload_from_bytes(data, digest).trace, trace)


def _packed(table: pa.Table, note: dict[str, Any] | None) -> bytes:
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema) as writer:
        writer.write_table(table)
        if note is not None:
            writer.add_key_value_metadata({"bucketwise": json.dumps(note)})
    return gzip.compress(sink.getvalue(), mtime=0)


def _note(**counts: int) -> dict[str, Any]:
    return {
        "account": account_of(READING),
        "counts": {f"trace.{name}": count for name, count in counts.items()},
    }


def _table(**columns: Any) -> pa.Table:
    return pa.table({f"trace.{name}": values for name, values in columns.items()})


TOKENS = {"prompt_tokens": [1, 2], "output_tokens": [3, 4]}
TWO = {"prompt_tokens": 2, "output_tokens": 2}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "not packed|ends? early"),
        (b"\x80\x04cos\nsystem\n", "not packed"),
        (gzip.compress(b"PAR1 no", mtime=0), "cannot be read"),
        (gzip.compress(b"x" * 100, mtime=0)[:-9], "end early"),
        (_packed(_table(**TOKENS), None), "does not say"),
        (_packed(_table(**TOKENS), {"account": 1, "counts": 2}), "expected parts"),
        (_packed(_table(**TOKENS), _note(prompt_tokens=2)), "columns are not those"),
        (_packed(_table(**TOKENS), _note(prompt_tokens=3, output_tokens=2)), "says otherwise"),
        (
            _packed(_table(prompt_tokens=[1, None], output_tokens=[3, 4]), _note(**TWO)),
            "has gaps",
        ),
        (
            _packed(_table(prompt_tokens=["a", "b"], output_tokens=[3, 4]), _note(**TWO)),
            "does not hold what it should",
        ),
        (
            _packed(_table(prompt_tokens=[-1, 1], output_tokens=[3, 4]), _note(**TWO)),
            "trace.prompt_tokens does not hold",
        ),
    ],
)
def test_what_is_no_workload(data: bytes, sentence: str) -> None:
    """Each is refused with one sentence, before anything of it is used."""
    with pytest.raises(RecordError, match=sentence):
        workload_from_bytes(data)


def test_another_content_than_the_named_one_is_refused() -> None:
    """A workload put under the wrong name is found out."""
    with pytest.raises(RecordError, match="does not have the digest"):
        workload_from_bytes(workload_to_bytes(READING)[1], "0" * 64)


def test_inflate_bombs_are_met_early() -> None:
    """What inflates beyond the limit is refused at the limit; up to it, it is read."""
    bomb = gzip.compress(bytes(32 << 20))
    with pytest.raises(RecordError, match="inflates to more than 1,048,576 bytes"):
        inflated(bomb, 1 << 20)
    assert len(inflated(bomb, 32 << 20)) == 32 << 20


def test_oversize_is_refused_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many rows are neither packed nor unpacked."""
    digest, data = workload_to_bytes(READING)
    packed = workload_to_json(READING)
    monkeypatch.setattr(workloads, "MAX_ROWS", 2)
    monkeypatch.setattr(workload_json, "MAX_ROWS", 2)
    with pytest.raises(RecordError, match="3 rows"):
        workload_to_bytes(READING)
    with pytest.raises(RecordError, match="3 rows"):
        workload_from_bytes(data, digest)
    with pytest.raises(RecordError, match="count is 3; at most 2"):
        workload_from_json(packed)


PACKED = workload_to_json(READING)
SPOTS = spots(PACKED)


@settings(max_examples=300)
@given(
    st.sampled_from(SPOTS),
    st.sampled_from(["delete", None, True, -1, 2, 2**63, 1e400, "", "AAAA", "int32", [], {}, [{}]]),
)
def test_a_forged_workload_is_refused(spot: tuple[Any, ...], value: Any) -> None:
    """Whatever stands in a field, it is the named content or it is refused with a sentence."""
    forged = copy.deepcopy(PACKED)
    inner = forged
    for key in spot[:-1]:
        inner = inner[key]
    if value == "delete":
        del inner[spot[-1]]
    else:
        inner[spot[-1]] = value
    try:
        back = workload_from_json(forged)
    except ProjectError as error:
        assert str(error)
    else:
        assert same(back, stored_form(READING))


def test_facts_must_be_plain() -> None:
    """A fact of no JSON type is an error of the reader's, not silently turned into text."""
    with pytest.raises(RecordError, match=r"facts\.x"):
        workload_to_bytes(replace(READING, facts={"x": {1, 2}}))
