"""Histograms of ranges and cumulative tables: bounds, and which ends belong."""

from __future__ import annotations

import pytest

from core.errors import FileContentError
from core.readers import ReadOptions, read
from core.readers.common.range_labels import parse_label
from core.records import Grade


def ranges(text: str, **options) -> list[list]:
    reading = read(text.encode(), options=ReadOptions(**options))
    assert reading.format == "ranges" and reading.grade is Grade.SUMS
    assert reading.prompt_lengths is None
    return next(v for k, v in reading.facts.items() if k in ("prompt_ranges", "output_ranges"))


def test_labels_with_both_ends() -> None:
    """0-127 and 128-255 hold both ends: lengths 1 to 127, 128 to 255."""
    text = "bucket,requests\n0-127,34\n128-255,6\n256+,2\n"
    assert ranges(text) == [[0, 127, 34], [127, 255, 6], [255, None, 2]]
    reading = read(text.encode())
    assert any("both ends belong" in warning for warning in reading.warnings)
    assert any("2 prompt lengths are above 255" in warning for warning in reading.warnings)


def test_touching_columns_are_half_open() -> None:
    """0,128 then 128,256 hold the lower end: 128 is in the second range."""
    text = "lo,hi,count\n0,128,3\n128,256,4\n256,,1\n"
    assert ranges(text) == [[0, 127, 3], [127, 255, 4], [255, None, 1]]


def test_brackets_and_comparisons_say_their_ends() -> None:
    """(1024, 2048] leaves 1024 out; <=512 and >2048 are open on one side."""
    text = "range;n\n<=512;1\n(512, 1024];2\n[1025, 2049);3\n>2048;4\n"
    assert ranges(text) == [[0, 512, 1], [512, 1024, 2], [1024, 2048, 3], [2048, None, 4]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1k-2k", (1000, 2000, "?")), ("5 to 9", (5, 9, "?")),
        ("8192+", (8192, float("inf"), "[]")),
        ("<10", (0, 10, "[)")), ("2023", None), ("a-b", None), ("", None), ("1-", None),
    ],
)  # fmt: skip
def test_labels(text: str, expected) -> None:
    """Labels that are ranges, and texts that are none."""
    assert parse_label(text) == expected


def test_cumulative_counts_are_differenced() -> None:
    """A column named cumulative, a `le` column, or a last bound of +Inf."""
    for header in ("le,count", "length,cumulative"):
        assert ranges(f"{header}\n10,4\n20,9\n+Inf,12\n", histogram_of="output") == [
            [0, 10, 4], [10, 20, 5], [20, None, 3],
        ]  # fmt: skip


def test_a_distribution_function_has_no_total() -> None:
    """A CDF that ends at 1 gives shares, and the warning says what is unknown."""
    reading = read(b"length,cdf\n10,0.25\n20,1.0\n")
    assert [r[2] for r in reading.facts["prompt_ranges"]] == [0.25, 0.75]
    assert "prompt_count" not in reading.facts
    assert any("shares" in warning for warning in reading.warnings)


def test_bad_rows_and_overlaps() -> None:
    """Rows that are no range are counted; ranges that overlap are refused."""
    reading = read(b"bucket,requests\n0-127,34\nother,5\n128-255,x\n256-511,1\n")
    assert reading.dropped == {"range cannot be read": 1, "count is not a number": 1}
    with pytest.raises(FileContentError, match="overlap"):
        read(b"bucket,requests\n0-127,34\n100-255,6\n")
