"""`length,count` and `batch,count` files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.commands.import_ import summary
from core.errors import FileContentError
from core.readers import ReadOptions, read
from core.readers.common.lengths import total_tokens, weighted_percentiles
from core.records import Grade, LengthHistogram, Origin, SizeUnit
from tests.core.readers.sample import TRACES, expected

CASES = Path(__file__).resolve().parents[2] / "data" / "cases" / "cases.json"


def case(identity: str) -> dict:
    return next(c for c in json.loads(CASES.read_text()) if c["id"] == identity)


def test_case_d_trace_04_dirty_csv() -> None:
    """D-TRACE-04: duplicates merged, spaces trimmed, bad batches rejected, zero counts named."""
    dirty = case("D-TRACE-04")
    reading = read(dirty["input"]["csv"].encode(), name="dirty.csv")
    assert reading.steps is not None and reading.steps.unit is SizeUnit.REQUESTS
    histogram = dict(zip(reading.steps.sizes.tolist(), reading.steps.steps.tolist(), strict=True))
    assert {str(size): n for size, n in histogram.items()} == dirty["expect"]["histogram"]
    examples = dict(reading.dropped_examples)
    assert list(examples.pop("count is 0")) == dirty["expect"]["zero_count_lines"]
    rejected = sorted(line for lines in examples.values() for line in lines)
    assert rejected == dirty["expect"]["rejected_lines"]
    assert reading.rows == 8 and reading.kept == 3 and reading.grade is Grade.STEPS


@pytest.mark.parametrize("name", ["hist_prompt_length_count.csv", "hist_output_length_count.csv"])
def test_real_histograms_equal_the_expanded_lengths(name: str) -> None:
    """Percentiles of a histogram are those of the lengths written out one by one."""
    facts = expected()[name]
    reading = read(TRACES / name)
    assert reading.grade is Grade.LENGTHS and reading.rows == facts["rows"]
    assert reading.prompt_lengths is not None
    assert reading.prompt_lengths.total == facts["requests"]
    result = summary(reading)["prompt"]
    for key, value in facts["length"].items():
        assert result[key] == pytest.approx(value, abs=1e-9), key


def test_user_says_what_is_counted() -> None:
    """The same file is prompts, outputs or steps, as the user says."""
    text = b"length,count\n4,10\n8,5\n"
    assert read(text).prompt_lengths is not None
    output = read(text, options=ReadOptions(histogram_of="output"))
    assert output.prompt_lengths is None and output.output_lengths is not None
    assert output.output_lengths.what == "output"
    steps = read(text, options=ReadOptions(histogram_of="batch")).steps
    assert steps is not None and steps.total_steps == 15 and steps.useful_slots == 80


@pytest.mark.parametrize(
    "header", ["len;freq", "tokens\tnum_requests", "prompt_tokens,n", "size|requests"]
)
def test_other_names_and_delimiters(header: str) -> None:
    """Any length-like name beside any count-like name is a histogram."""
    separator = next(sign for sign in ",;\t|" if sign in header)
    reading = read(f"{header}\n4{separator}10\n".encode())
    assert reading.format == "length-count"
    assert reading.prompt_lengths is not None and reading.prompt_lengths.counts.tolist() == [10]


def test_third_column_of_outputs() -> None:
    """prompt, output, count: both lengths are weighted by the count."""
    reading = read(b"prompt_tokens,output_tokens,count\n10,3,2\n10,4,1\n")
    assert reading.prompt_lengths is not None and reading.output_lengths is not None
    assert reading.prompt_lengths.counts.tolist() == [3]
    assert reading.output_lengths.counts.tolist() == [2, 1]


def test_shares_have_a_shape_and_no_total() -> None:
    """Fractions and percentages are read as shares, and the warning says what is unknown."""
    for text in (b"length,share\n1,0.25\n9,0.75\n", b"length,percent\n1,25.0%\n9,75.0%\n"):
        reading = read(text)
        assert reading.prompt_lengths is not None and reading.prompt_lengths.is_share
        assert any("shares" in warning for warning in reading.warnings)
        assert summary(reading)["prompt"]["p50"] == 9
    with pytest.raises(FileContentError, match="whole numbers"):
        read(b"batch,share\n1,0.5\n2,0.5\n")


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 50)), min_size=1, max_size=30))
def test_weighted_percentiles_equal_numpy(pairs: list[tuple[int, int]]) -> None:
    """Without expanding, percentiles equal numpy's linear ones of the expanded lengths, exactly."""
    merged: dict[int, int] = {}
    for length, count in pairs:
        merged[length] = merged.get(length, 0) + count
    lengths = np.array(sorted(merged), np.int64)
    counts = np.array([merged[length] for length in lengths], np.int64)
    expanded = np.repeat(lengths, counts)
    histogram = LengthHistogram(lengths, counts)
    percents = (0.0, 1.0, 12.5, 50.0, 90.0, 99.0, 99.9, 100.0)
    assert (
        weighted_percentiles(histogram, percents).tolist()
        == np.percentile(expanded, percents).tolist()
    )
    assert total_tokens(histogram) == expanded.sum()


def test_clipped_lengths_are_said() -> None:
    """Many requests on the largest length look like a limit."""
    rows = "\n".join(f"{length},10" for length in range(1, 50))
    reading = read(f"length,count\n{rows}\n4096,300\n".encode())
    assert any("exactly 4,096" in warning for warning in reading.warnings)


def test_a_step_a_row() -> None:
    """A column of batches, a gauge over time, or bare numbers said to be batches are steps."""
    table = read(b"step,batch_size\n1,4\n2,8\n3,4\n4,0\n5,x\n")
    assert table.steps is not None and table.steps.sizes.tolist() == [4, 8]
    assert table.steps.steps.tolist() == [2, 1] and table.grade is Grade.STEPS
    assert table.dropped == {"row without a running request": 1, "batch is not a number": 1}
    gauge = read(b'"Time","vllm:num_requests_running"\n1700000000000,7\n1700000015000,9\n')
    assert gauge.steps is not None and gauge.steps.origin is Origin.ESTIMATED
    bare = read(b"4\n8\n4\n", options=ReadOptions(histogram_of="batch"))
    assert bare.steps is not None and bare.steps.useful_slots == 16
    assert read(b"4\n8\n4\n").steps is None
    array = read(b"[4, 8, 4]", options=ReadOptions(histogram_of="batch"))
    assert array.steps is not None and array.steps.total_steps == 3
