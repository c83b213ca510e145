"""CSV that a spreadsheet can open safely: no formula, no escape, numbers as numbers."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.csv_table import csv_text, field_text
from core.text.plain_text import FORMULA_SIGNS, cell_text, file_stem, plain_line, plain_lines


def read_back(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("http://x","y")', '\'=HYPERLINK("http://x","y")'),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "' =1"),
        ("\r=1", "' =1"),
        ("  =1", "'  =1"),
        ("\x1b[31m=1", "'=1"),
        ("＝1", "'＝1"),
        ("vLLM default", "vLLM default"),
        ("1, 2, 4", "1, 2, 4"),
        ("–", "–"),
    ],
)
def test_a_formula_becomes_a_text(text, cell):
    """A text that a spreadsheet would run gets an apostrophe; others stay as they are."""
    assert cell_text(text) == cell


@pytest.mark.parametrize(
    "text",
    [
        "red \x1b[31;1mname\x1b[0m",
        "red \x9b31mname",
        "red \x1b]0;title\x07name",
        "red \x1b]8;;http://x\x1b\\name\x1b]8;;\x1b\\",
        "red \x1bPq#0\x1b\\name",
        "red \u202ename",
        "red \x08\x00name\x7f",
    ],
)
def test_terminal_escapes_go_whole(text):
    """The sequence goes with its parameters, not the escape sign alone."""
    assert plain_line(text) == "red name"


def test_lines_stay_lines():
    """A pasted configuration keeps its lines; a name has one."""
    text = "a: 1\n\x1b[1mb: 2\x1b[0m\r\nc"
    assert plain_lines(text) == "a: 1\nb: 2\nc"
    assert plain_line(text) == "a: 1 b: 2 c"


@given(st.text())
def test_no_text_is_a_formula_and_none_holds_a_control(text):
    """Whatever the text: its cell starts with no formula sign and fits on one line."""
    cell = cell_text(text)
    assert not cell.lstrip(" ").startswith(FORMULA_SIGNS)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in cell)
    assert read_back(csv_text(["name"], [{"name": text}]))[1:] in ([[cell]], [[]])
    cell.encode("utf-8")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_stay_numbers(value):
    """A number reads back as itself, a negative one too: no apostrophe, no rounding."""
    assert float(field_text(value)) == value
    assert float(field_text(np.float64(value))) == value


def test_cells_by_kind():
    """Whole numbers without a point, nothing for what is missing, yes and no for truths."""
    found = [field_text(v) for v in (2.0, np.int64(-7), None, float("nan"), True, 1e300)]
    assert found == ["2", "-7", "", "", "yes", "1e+300"]
    assert csv_text(["a", "b"], [{"a": 1}, {"b": 'x"y,z'}]) == 'a,b\n1,\n,"x""y,z"\n'


def test_a_file_name_holds_no_path():
    """Letters, digits and hyphens only."""
    assert file_stem("../../etc/pass wd: µs \x1b[1m(1)") == "etc-pass-wd-s-1"
    assert file_stem("…") == "untitled"
