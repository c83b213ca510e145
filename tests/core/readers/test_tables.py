"""Tables of requests: any delimiter, any names, dirty rows counted."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from core.errors import ColumnMappingError, FileContentError, SettingError
from core.readers import ReadOptions, read, sniff
from core.readers.common import blocks
from core.records import Grade
from tests.core.readers.sample import TRACES, check_lengths, expected

TABLES = [
    name
    for name, facts in expected().items()
    if name.endswith((".csv", ".csv.gz", ".csv.zst")) and "kept" in facts
]


@pytest.mark.parametrize("name", TABLES)
def test_real_tables_agree_with_pandas(name: str) -> None:
    """Rows, percentiles, totals and duration of each slice are those that pandas finds."""
    check_lengths(read(TRACES / name), expected()[name])


def test_azure_keeps_all_seven_digits() -> None:
    """A tick of 100 ns is not lost: 7 digits after the point are read."""
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        "2023-11-16 18:15:46.6805900,374,44\r\n"
        "2023-11-16 18:15:46.6805901,396,109"
    )
    reading = read(text.encode(), name="azure.csv")
    assert reading.format == "azure-csv"
    assert reading.grade is Grade.REQUESTS
    assert reading.trace is not None and reading.trace.arrival_s is not None
    assert reading.trace.arrival_s[1] == pytest.approx(1e-7, rel=1e-6)
    assert reading.trace.output_tokens.tolist() == [44, 109]


def test_reading_from_path_bytes_and_open_file_is_the_same() -> None:
    """A path, its bytes, an open file and a pipe that cannot seek all give the same trace."""
    path = TRACES / "azure_conv.csv"

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with path.open("rb") as stream:
        readings = [
            read(path),
            read(str(path)),
            read(path.read_bytes(), name="x"),
            read(stream),
            read(Pipe(path.read_bytes())),  # type: ignore[arg-type]
        ]
    assert {r.kept for r in readings} == {400}
    first = readings[0].trace
    assert first is not None
    for reading in readings[1:]:
        assert reading.trace is not None
        assert np.array_equal(reading.trace.prompt_tokens, first.prompt_tokens)
        assert np.array_equal(reading.trace.arrival_s, first.arrival_s)  # type: ignore[arg-type]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "names",
    [
        ("arrived_at", "Prompt-Tokens", "Completion Tokens"),
        ("ts", "ISL", "OSL"),
        ("requestTime", "inputLength", "outputLength"),
        ("created", "n_in", "n_out"),
    ],
)
def test_names_match_without_case_spaces_and_signs(delimiter: str, names: tuple[str, ...]) -> None:
    """Column names are compared without case, spaces, `_` and `-`, with any delimiter."""
    lines = [
        delimiter.join(names),
        delimiter.join(["0.5", "10", "3"]),
        delimiter.join(["2", "20", "4"]),
    ]
    reading = read("\n".join(lines).encode())
    assert reading.trace is not None and reading.trace.arrival_s is not None
    assert reading.trace.prompt_tokens.tolist() == [10, 20]
    assert reading.trace.output_tokens.tolist() == [3, 4]
    assert reading.trace.arrival_s.tolist() == [0.0, 1.5]
    assert tuple(reading.columns.values()) == names


DECOYS = "total_tokens,max_tokens,cached_tokens,latency_ms,request_id,token_limit"


def test_decoys_are_never_taken() -> None:
    """Totals, limits, cached parts, latencies and ids are no lengths: the user is asked."""
    with pytest.raises(ColumnMappingError) as caught:
        read(f"{DECOYS}\n1,2,3,4,5,6\n".encode(), name="d.csv")
    assert "total_tokens" in str(caught.value)
    assert caught.value.columns == tuple(DECOYS.split(","))
    reading = read(f"{DECOYS},prompt_tokens,output_tokens\n1,2,3,4,5,6,70,8\n".encode())
    assert reading.columns == {"prompt_tokens": "prompt_tokens", "output_tokens": "output_tokens"}
    assert reading.trace is not None and reading.trace.prompt_tokens.tolist() == [70]


def test_user_remaps_any_column() -> None:
    """What the user says wins over names, also where the header says nothing."""
    text = b"when,a,b,prompt_tokens\n0,5,1,999\n1,6,2,999\n"
    options = ReadOptions(columns={"arrival": "when", "prompt_tokens": "a", "output_tokens": "B"})
    reading = read(text, options=options)
    assert reading.trace is not None
    assert reading.trace.prompt_tokens.tolist() == [5, 6]
    assert reading.trace.output_tokens.tolist() == [1, 2]
    assert reading.columns == {"prompt_tokens": "a", "arrival": "when", "output_tokens": "b"}
    assert reading.all_columns == ("when", "a", "b", "prompt_tokens")


def test_mapping_to_a_missing_column_names_those_there_are() -> None:
    """A column that does not exist is refused with the list of columns."""
    options = ReadOptions(columns={"prompt_tokens": "nope"})
    with pytest.raises(ColumnMappingError, match="no column 'nope'.*'prompt_tokens'"):
        read(b"prompt_tokens,output_tokens\n1,2\n", options=options)
    with pytest.raises(SettingError, match="cannot be mapped to 'speed'"):
        ReadOptions(columns={"speed": "x"})


DIRTY = (
    "time,prompt_tokens,output_tokens\n"  # line 1
    "0,10,1\n"
    '1,"1,098",2\n'  # thousands
    "2, 12 ,3\n"  # spaces
    "3,,4\n"  # blank, line 5
    "4,abc,5\n"  # no number
    "time,prompt_tokens,output_tokens\n"  # header repeated, line 7
    "# a remark\n"
    "\n"
    "5,13,0\n"  # failed, line 10
    "6,-3,6\n"
    "7,14.0,7\n"
    "8,14.5,8\n"  # line 13
    "NaN,15,9\n"
    "9,16,10,surplus\n"
    "10,17,11,\n"
    "11,18,NaN\n"
    "12,19,12"
)


def test_dirty_rows_are_counted_by_reason_with_lines() -> None:
    """Each row left out has a reason and a line number; the rest is read; nothing is lost."""
    reading = read(DIRTY.encode())
    assert reading.trace is not None
    assert reading.trace.prompt_tokens.tolist() == [10, 1098, 12, 14, 17, 19]
    assert reading.trace.output_tokens.tolist() == [1, 2, 3, 7, 11, 12]
    assert reading.dropped == {
        "prompt tokens is blank": 1,
        "prompt tokens is not a number": 1,
        "header line repeated": 1,
        "output tokens is 0 (failed or rejected request)": 1,
        "prompt tokens is below 1": 1,
        "prompt tokens is not a whole number": 1,
        "arrival is blank": 1,
        "row has more cells than the header": 1,
        "output tokens is blank": 1,
    }
    assert reading.dropped_examples["prompt tokens is blank"] == (5,)
    assert reading.dropped_examples["header line repeated"] == (7,)
    assert reading.dropped_examples["output tokens is 0 (failed or rejected request)"] == (10,)
    assert reading.dropped_examples["prompt tokens is not a whole number"] == (13,)
    assert reading.rows == 15 == reading.kept + sum(reading.dropped.values())
    assert reading.facts["comment_lines"] == 1


def test_dirty_and_clean_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of the blocks changes nothing: rows, reasons and line numbers stay."""
    whole = read(DIRTY.encode())
    for size in (16, 40, 100):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
        cut = read(DIRTY.encode())
        assert cut.dropped == whole.dropped
        assert cut.dropped_examples == whole.dropped_examples
        assert cut.trace is not None and whole.trace is not None
        assert np.array_equal(cut.trace.prompt_tokens, whole.trace.prompt_tokens)


def test_at_most_five_examples() -> None:
    """Of many bad rows the first five line numbers are kept, and all are counted."""
    text = "prompt_tokens,output_tokens\n" + "x,1\n" * 9 + "5,5\n"
    reading = read(text.encode())
    assert reading.dropped == {"prompt tokens is not a number": 9}
    assert reading.dropped_examples == {"prompt tokens is not a number": (2, 3, 4, 5, 6)}


def test_decimal_comma_with_semicolons() -> None:
    """Where `;` separates, "1,5" is one and a half and "1.098,0" is a thousand and more."""
    text = "time;prompt_tokens;output_tokens\n0,5;1.098,0;3\n2,0;7,0;4\n"
    reading = read(text.encode())
    assert reading.trace is not None and reading.trace.arrival_s is not None
    assert reading.trace.prompt_tokens.tolist() == [1098, 7]
    assert reading.trace.arrival_s.tolist() == [0.0, 1.5]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_byte_order_marks_and_line_ends(encoding: str, end: str) -> None:
    """UTF-8 with a mark, UTF-16 of both orders, and all three line ends are the same table."""
    text = end.join(["prompt_tokens\toutput_tokens", "5\t6", "7\t8", ""])
    reading = read(text.encode(encoding))
    assert reading.trace is not None
    assert reading.trace.prompt_tokens.tolist() == [5, 7]
    assert reading.all_columns == ("prompt_tokens", "output_tokens")


def test_headerless_table_is_guessed_and_shown() -> None:
    """Without a header row 1 is data; the guess is said and can be changed."""
    text = b"0.25,300,20\n0.5,100,40\n1.0,200,30\n"
    reading = read(text)
    assert reading.trace is not None and reading.trace.arrival_s is not None
    assert reading.columns == {
        "arrival": "column 1", "prompt_tokens": "column 2", "output_tokens": "column 3",
    }  # fmt: skip
    assert reading.trace.arrival_s.tolist() == [0.0, 0.25, 0.75]
    assert any("guessed" in warning for warning in reading.warnings)
    other = read(text, options=ReadOptions(columns={"prompt_tokens": "column 3"}))
    assert other.trace is not None and other.trace.prompt_tokens.tolist() == [20, 40, 30]
    assert other.trace.output_tokens.tolist() == [300, 100, 200]


def test_headerless_table_that_cannot_be_told_is_asked() -> None:
    """Four columns of numbers without a header are not guessed."""
    with pytest.raises(ColumnMappingError, match="column 4"):
        read(b"1,2,3,4\n5,6,7,8\n")


@pytest.mark.parametrize(
    ("values", "unit", "seconds"),
    [
        (["1700158546", "1700158548"], "seconds since 1970", 2.0),
        (["1700158546680", "1700158548680"], "milliseconds since 1970", 2.0),
        (["1700158546680590", "1700158548680590"], "microseconds since 1970", 2.0),
        (["1796012914549803531", "1796012914549803532"], "nanoseconds since 1970", 1e-9),
        (["3", "5"], "seconds", 2.0),
        (["2023-11-16T18:15:46Z", "2023-11-16T20:15:48+02:00"], "dates and times", 2.0),
        (["2023/11/16 18:15:46,5", "2023/11/16 18:15:47"], "dates and times, read as UTC", 0.5),
    ],
)
def test_time_units_by_magnitude(values: list[str], unit: str, seconds: float) -> None:
    """Epoch seconds, ms, us and ns are told apart by size; integers keep their last digit."""
    rows = [f"{value};5;6" for value in values]
    reading = read("\n".join(["time;prompt_tokens;output_tokens", *rows]).encode())
    assert reading.trace is not None and reading.trace.duration_s == pytest.approx(seconds)
    assert reading.facts["time_unit"].startswith(unit)


def test_time_unit_from_name_and_from_user() -> None:
    """A unit in the column's name counts, and the user's choice counts more."""
    text = b"start_ms,prompt_tokens,output_tokens\n0,1,1\n500,1,1\n"
    assert read(text).trace.duration_s == 0.5  # type: ignore[union-attr]
    chosen = read(text, options=ReadOptions(time_unit="us"))
    assert chosen.trace is not None and chosen.trace.duration_s == 0.0005


def test_absurd_rate_is_said() -> None:
    """More than 10,000 requests a second points to a wrong unit, and a warning says so."""
    rows = "\n".join(f"{i / 1e5},5,5" for i in range(100))
    reading = read(f"time,prompt_tokens,output_tokens\n{rows}".encode())
    assert any("time unit" in warning for warning in reading.warnings)


def test_zoned_and_zoneless_rows_are_not_mixed_silently() -> None:
    """Rows with and without a zone are read, and the mix is said."""
    text = "time,prompt_tokens,output_tokens\n2023-11-16T18:15:46Z,1,1\n2023-11-16 18:15:47,1,1\n"
    reading = read(text.encode())
    assert any("1 arrivals have a time zone and 1 have none" in w for w in reading.warnings)


def test_unsorted_rows_are_sorted_stably_and_counted() -> None:
    """Rows are sorted by arrival, ties keep the file's order, and what was out of order is said."""
    text = b"time,prompt_tokens,output_tokens\n5,1,1\n3,2,1\n5,3,1\n4,4,1\n"
    reading = read(text)
    assert reading.trace is not None and reading.trace.arrival_s is not None
    assert reading.trace.prompt_tokens.tolist() == [2, 4, 1, 3]
    assert reading.trace.arrival_s.tolist() == [0.0, 1.0, 2.0, 2.0]
    assert any(w.startswith("2 rows arrive before") for w in reading.warnings)


def test_ticks_are_said_and_can_be_spread() -> None:
    """Requests on one instant are a warning; spreading puts them evenly up to the next one."""
    text = b"time,prompt_tokens,output_tokens\n0,1,1\n0,1,1\n0,1,1\n3,1,1\n3,1,1\n"
    reading = read(text)
    assert any("ticks of about 3 s" in warning for warning in reading.warnings)
    spread = read(text, options=ReadOptions(spread_ticks=True))
    assert spread.trace is not None and spread.trace.arrival_s is not None
    assert spread.trace.arrival_s.tolist() == [0.0, 1.0, 2.0, 3.0, 4.5]


def test_model_filter() -> None:
    """Models are counted, and one can be chosen."""
    text = b"model,prompt_tokens,output_tokens\na,1,1\nb,2,2\na,3,3\n"
    reading = read(text)
    assert reading.facts["models"] == {"a": 2, "b": 1}
    assert any("several models" in warning for warning in reading.warnings)
    only = read(text, options=ReadOptions(model="b"))
    assert only.trace is not None and only.trace.prompt_tokens.tolist() == [2]
    assert only.dropped == {"another model": 2}


def test_one_length_column_is_enough_for_a_histogram() -> None:
    """Prompt lengths without outputs give a histogram, and say what cannot be done."""
    reading = read(b"prompt_tokens\n5\n5\n7\n")
    assert reading.trace is None and reading.grade is Grade.LENGTHS
    assert reading.prompt_lengths is not None and reading.output_lengths is None
    assert reading.prompt_lengths.lengths.tolist() == [5, 7]
    assert reading.prompt_lengths.counts.tolist() == [2, 1]
    assert any("cannot be simulated" in warning for warning in reading.warnings)


def test_no_usable_row_is_one_sentence() -> None:
    """When every row is bad, the reasons are named."""
    with pytest.raises(FileContentError, match=r"prompt tokens is not a number \(2 rows\)"):
        read(b"prompt_tokens,output_tokens\nx,1\ny,2\n", name="bad.csv")
    with pytest.raises(FileContentError, match="no rows"):
        read(b"prompt_tokens,output_tokens\n", name="empty.csv")


def test_text_columns_do_not_reach_the_reading(tmp_path: Path) -> None:
    """Prompts, also with line ends and delimiters in them, are never kept."""
    secret = "tell, me\na secret now"
    text = f'prompt,prompt_tokens,output_tokens,user\n"{secret}",5,6,alice\n"x",7,8,bob\n'
    reading = read(text.encode())
    assert reading.trace is not None and reading.trace.prompt_tokens.tolist() == [5, 7]
    for private in ("secret", "alice", "bob"):
        assert private not in repr(reading)


def test_stray_quote_does_not_swallow_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote that never closes costs its neighbours at most, never the rest of the file."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)
    monkeypatch.setattr(blocks, "MAX_ROW_BYTES", 400)
    rows = ["1,1,ok"] * 20 + ['2,2,5" screen'] + ["3,3,ok"] * 200
    reading = read("\n".join(["prompt_tokens,output_tokens,note", *rows]).encode())
    assert reading.kept == 221


def test_sniff_ignores_the_name() -> None:
    """The content decides, whatever the file is called."""
    azure = (TRACES / "azure_conv.csv").read_bytes()
    assert sniff(azure, name="trace.jsonl") == "azure-csv"
    assert sniff((TRACES / "mooncake_conversation.jsonl").read_bytes(), name="x.csv") == (
        "mooncake-jsonl"
    )
