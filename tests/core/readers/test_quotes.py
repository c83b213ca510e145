"""Quotes in tables: a stray one costs its own row, a cell over several lines is one row."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.readers import read
from core.readers.common import blocks
from core.readers.common.quoted_rows import OPEN_QUOTE, iter_quoted_rows
from core.readers.reading import Reading

HEADER = "arrived_at,num_prefill_tokens,num_decode_tokens"


def table(*rows: str, header: str = HEADER) -> Reading:
    return read("\n".join([header, *rows]).encode(), name="t.csv")


def prompts(reading: Reading) -> list[int]:
    assert reading.trace is not None
    return reading.trace.prompt_tokens.tolist()


def quote_warnings(reading: Reading) -> list[str]:
    return [text for text in reading.warnings if "quote" in text]


def test_an_open_quote_costs_its_own_row_alone() -> None:
    """Of six rows, one with an open quote, five are read and the sixth is named."""
    reading = table("0,10,5", "1,11,5", '2,"12,5', "3,13,5", "4,14,5", "5,15,5")
    assert (reading.rows, reading.kept) == (6, 5)
    assert prompts(reading) == [10, 11, 13, 14, 15]
    assert reading.dropped == {OPEN_QUOTE: 1}
    assert reading.dropped_examples == {OPEN_QUOTE: (4,)}
    (warning,) = quote_warnings(reading)
    assert warning.startswith("Line 4 opens a quote and does not close it:")
    assert "close or delete the quote" in warning


def test_a_quote_closed_later_is_still_a_stray_one() -> None:
    """A number cannot hold line ends: the lines between two stray quotes are rows."""
    reading = table("0,10,5", '1,"11,5', "2,12,5", '3,13",5', "4,14,5")
    assert (reading.rows, reading.kept) == (5, 4)
    assert prompts(reading) == [10, 12, 13, 14]
    assert reading.dropped == {OPEN_QUOTE: 1}


def test_two_stray_quotes_in_texts_do_not_join_rows() -> None:
    """A quote that is closed by another row's opening one has text behind it: no CSV does that."""
    reading = table(
        '0,hello "you",10,5', '1,"hello,11,5', '2,"bye",12,5', "3,x,13,5",
        header="arrived_at,note,num_prefill_tokens,num_decode_tokens",
    )  # fmt: skip
    assert (reading.rows, reading.kept) == (4, 3)
    assert prompts(reading) == [10, 12, 13]


def test_an_open_quote_in_the_last_line_is_named() -> None:
    """The last row is left out for its quote, with or without a line end behind it."""
    for end in ("", "\n"):
        reading = table("0,10,5", f'1,"11,5{end}')
        assert reading.dropped_examples == {OPEN_QUOTE: (3,)}
        assert prompts(reading) == [10]


def test_a_quote_that_hides_no_number_costs_nothing() -> None:
    """Texts cut off at a width leave quotes open in the last column: their rows are read."""
    reading = table(
        '0,10,5,"tell me', '1,11,5,"and then', '2,12,5,"so',
        header=f"{HEADER},note",
    )  # fmt: skip
    assert prompts(reading) == [10, 11, 12] and not reading.dropped
    (warning,) = quote_warnings(reading)
    assert "Line 2 opens" in warning and "(so do 2 more)" in warning


def test_line_ends_inside_a_quoted_cell_are_no_rows() -> None:
    """Prompts over several lines, with quotes and delimiters in them, are one row each."""
    reading = table(
        '0,"one, ""two""\nthree\n\nfour",10,5', '1,"x\ny",11,5', "2,z,bad,5",
        header="arrived_at,prompt,num_prefill_tokens,num_decode_tokens",
    )  # fmt: skip
    assert (reading.rows, reading.kept) == (3, 2)
    assert prompts(reading) == [10, 11]
    assert reading.dropped_examples == {"prompt tokens is not a number": (8,)}
    assert quote_warnings(reading) == []


def test_a_comment_with_a_quote_opens_none() -> None:
    """A quote in a comment line is text."""
    reading = table("0,10,5", '# so, "they say', "1,11,5", "2,bad,5")
    assert prompts(reading) == [10, 11]
    assert reading.facts["comment_lines"] == 1 and quote_warnings(reading) == []


def test_long_cells_over_blocks_stay_rows_after_a_stray_quote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind a stray quote that no later one closes in time, cells over several lines are rows."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    monkeypatch.setattr(blocks, "MAX_ROW_BYTES", 400)
    plain = [f"{i},x,{10 + i},5" for i in range(1, 40)]
    long = [f'{i},"a\nb",{10 + i},5' for i in range(40, 60)]
    reading = table(
        '0,"x,10,5', *plain, *long, header="arrived_at,note,num_prefill_tokens,num_decode_tokens"
    )
    assert (reading.rows, reading.kept) == (60, 59)
    assert reading.dropped == {OPEN_QUOTE: 1}


@given(st.lists(st.text('a",\n', max_size=8), max_size=12))
def test_every_line_is_part_of_one_row(parts: list[str]) -> None:
    """Rows follow each other without a gap, whatever quotes there are; a stray quote joins none."""
    text = "\n".join(parts) + "\n"
    found = list(iter_quoted_rows(text, ",", lambda cells: len(cells) == 2))
    assert [row.line for row in found] == sorted({row.line for row in found})
    starts = [row.line for row in found] + [text.count("\n")]
    assert starts[0] == 0
    for row, after in zip(found, starts[1:], strict=True):
        assert after == row.line + 1 or (row.cells is not None and len(row.cells) == 2)


def test_many_stray_quotes_take_no_longer_than_other_rows() -> None:
    """Lines are looked at twice at most: 60,000 stray quotes are read in a few seconds."""
    rows = [f'{i},"1""' for i in range(60_000)]
    started = time.perf_counter()
    reading = table(*["0,10,5"] * 100, *rows, "9,11,5")
    assert reading.dropped[OPEN_QUOTE] == 60_000 and reading.kept == 101
    assert time.perf_counter() - started < 20  # one look a line for each quote would take hours
