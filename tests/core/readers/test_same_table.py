"""One table in other containers, columns with unlisted names, and statuses with words in front."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UnknownFormatError
from core.readers import Reading, read
from core.readers.common import flat_table

Rows = list[dict[str, object]]


def as_csv(rows: Rows) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def as_array(rows: Rows) -> bytes:
    return json.dumps(rows).encode()


def as_lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(rows: Rows) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


JSON_FORMS = (as_array, as_lines)


def requests_of(reading: Reading) -> tuple[object, ...]:
    trace = reading.trace
    assert trace is not None
    arrival = None if trace.arrival_s is None else np.round(trace.arrival_s, 6).tolist()
    mapped = tuple(sorted(reading.columns.items()))
    return (
        trace.prompt_tokens.tolist(), trace.output_tokens.tolist(), arrival,
        reading.rows, reading.kept, dict(reading.dropped), mapped, reading.grade,
    )  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(
    arrival=st.sampled_from(["started", "sent_at", "event_time", "request_ts", "gmt_create"]),
    status=st.sampled_from(["status", "predict_status", "http_status_code"]),
    prompt=st.sampled_from(["input_toks", "prompt_tokens", "isl"]),
    rows=st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(1, 9000), st.integers(1, 900), st.booleans()),
        min_size=1,
        max_size=20,
    ),
)
def test_requests_are_the_same_in_every_container(
    arrival: str, status: str, prompt: str, rows: list[tuple[int, int, int, bool]]
) -> None:
    """CSV, JSON array, JSON lines and Parquet: the same requests, drops, columns and grade."""
    rows = [(0, 1, 1, False), *rows]
    table: Rows = [
        {arrival: at / 8, prompt: p, "output_toks": o, status: "FAILED" if bad else "OK"}
        for at, p, o, bad in rows
    ]
    wanted = requests_of(read(as_csv(table)))
    assert wanted[4] == sum(not bad for *_, bad in rows)
    for form in (*JSON_FORMS, as_parquet):
        assert requests_of(read(form(table))) == wanted, form.__name__


@settings(deadline=None, max_examples=40)
@given(
    size=st.sampled_from(["batch", "batch_size", "bs", "num_running"]),
    beside=st.sampled_from(["duration_ms", "count", "note"]),
    rows=st.lists(st.tuples(st.integers(1, 512), st.integers(1, 99)), min_size=1, max_size=20),
)
def test_steps_are_the_same_in_every_json(
    size: str, beside: str, rows: list[tuple[int, int]]
) -> None:
    """Batch sizes a step, or with a count: as CSV says them, so do an array and lines."""
    table: Rows = [{size: batch, beside: f"n{n}" if beside == "note" else n} for batch, n in rows]
    wanted = {}
    for batch, n in rows:
        wanted[batch] = wanted.get(batch, 0) + (n if beside == "count" else 1)
    for form in (as_csv, *JSON_FORMS):
        steps = read(form(table)).steps
        assert steps is not None
        got = dict(zip(steps.sizes.tolist(), steps.steps.tolist(), strict=True))
        assert got == wanted, form.__name__


@pytest.mark.parametrize("line", ['{"batch":6,"count":4}', '{"bs": 6, "steps": 4}',
                                  '{"batch_size": "6", "frequency": 4}',
                                  '{"num_seqs": 6, "occurrences": 4}'])  # fmt: skip
def test_one_object_with_a_count(line: str) -> None:
    """Alone on its line it is a histogram of one size: 4 steps of 6."""
    steps = read(line.encode() + b"\n").steps
    assert steps is not None
    assert (steps.sizes.tolist(), steps.steps.tolist()) == ([6], [4])


@pytest.mark.parametrize(
    "column",
    ["started", "sent_at", "event_time", "submit_time", "request_ts", "gmt_create",
     "api_receive_ts", "requested_at", "Create Time", "submitted"],
)  # fmt: skip
def test_arrival_names(column: str) -> None:
    """Dates 1.5 s apart in a column of that name are the arrivals."""
    data = f"{column},input_toks,output_toks\n2026-01-01 00:00:00,5,2\n2026-01-01 00:00:01.5,6,3\n"
    trace = read(data.encode()).trace
    assert trace is not None and trace.arrival_s is not None
    assert trace.arrival_s.tolist() == [0.0, 1.5]


def test_nanoseconds_by_name() -> None:
    """500,000,000 ns are half a second."""
    trace = read(b"input_toks,output_toks,arrival_time_ns\n5,2,0\n6,3,500000000\n").trace
    assert trace is not None and trace.arrival_s is not None
    assert trace.arrival_s.tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("step", "unit", "seconds"),
    [
        (180_000_000, "nanoseconds", 0.18),
        (2_500_000_000, "nanoseconds", 2.5),
        (400_000, "microseconds", 0.4),
        (40, "seconds", 40.0),
    ],
)
def test_large_arrivals_from_a_start_have_the_unit_of_their_spacing(
    step: int, unit: str, seconds: float
) -> None:
    """40,000 requests from 0 on, as in a log of some hours; no date, so not centuries."""
    rows = "".join(f"{step * i},5,2\n" for i in range(40_000))
    reading = read(("time,isl,osl\n" + rows).encode())
    trace = reading.trace
    assert trace is not None and trace.arrival_s is not None
    assert trace.arrival_s[1] == pytest.approx(seconds)
    assert str(reading.facts["time_unit"]).startswith(unit)
    assert "judged by their size" in str(reading.facts["time_unit"])


@pytest.mark.parametrize(
    "data",
    [b'{"city":"A","height":4}\n{"city":"B","height":5}\n', b'{"batch":6,"count":4}\n[1]\n{"x":1}'],
)
def test_other_objects_are_still_refused(data: bytes) -> None:
    """The sentence is about the JSON that was given, not about a table made of it."""
    with pytest.raises(UnknownFormatError, match="JSON"):
        read(data)


def test_rows_made_into_a_table_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One object more than the bound, and the file stays what it was."""
    monkeypatch.setattr(flat_table, "MAX_ROWS", 3)
    row = b'{"batch":6,"duration_ms":4}\n'
    assert read(row * 3).kept == 3
    with pytest.raises(UnknownFormatError):
        read(row * 4)


@pytest.mark.parametrize(
    "text",
    [
        "Results:\n  Successful requests: 100\n  Mean TTFT (ms): 31.5\n",
        "Summary:\n  all went well in 5 s\n",
        "Report:\n--------\nRequests made 12\n",
        "Overview:\n\tfine\n",
    ],
)
def test_a_text_report_is_not_called_yaml(text: str) -> None:
    """A heading with a colon does not make YAML of the prose under it."""
    with pytest.raises(UnknownFormatError) as caught:
        read(text.encode())
    assert "YAML" not in str(caught.value)


@pytest.mark.parametrize("text", ["version: 1\nhost:\n  x: 2\n", "---\nruns:\n  - a\n"])
def test_yaml_is_still_called_yaml(text: str) -> None:
    with pytest.raises(UnknownFormatError, match="YAML"):
        read(text.encode())
