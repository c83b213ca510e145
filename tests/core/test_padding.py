"""Padding by the definitions: by hand, by the right values, and as properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import CaptureSizesError
from core.padding import bucket_of, padding_report
from core.records import StepHistogram, normalised_sizes
from tests.core.cases import case, histogram_counts
from tests.core.strategies import capture_sizes, histograms


def report_of(counts: dict[int, int], sizes):
    return padding_report(StepHistogram.from_mapping(counts), sizes)


def test_waste_by_hand():
    """Batches 1,3,5,8 on 1,2,4,8: 17 useful, 21 slots, 4/21; with 5 added 18 slots, 1/18."""
    # 1 -> 1, 3 -> 4 (+1), 5 -> 8 (+3), 8 -> 8
    batches = StepHistogram.from_batches([1, 3, 5, 8])
    report = padding_report(batches, [1, 2, 4, 8])
    assert (report.useful_slots, report.total_slots, report.padded_total) == (17, 21, 4)
    assert report.waste == 4 / 21
    assert report.overhead == 4 / 17
    assert report.padded_by_size.tolist() == [0, 1, 3, 0]
    assert padding_report(batches, [1, 2, 4, 5, 8]).waste == 1 / 18


def test_bucket_lookup_and_waste_of_each_batch():
    """The smallest size that holds the batch; above the largest the step is eager, unpadded."""
    given_, expect = case("D-PAD-01")
    buckets = bucket_of(given_["batches"], given_["sizes"])
    for row, bucket in zip(expect["rows"], buckets, strict=True):
        report = report_of({row["batch"]: 1}, given_["sizes"])
        if row["mode"] == "eager":
            assert bucket == -1
            assert (report.eager_steps, report.padded_total, report.waste) == (1, 0, 0.0)
            assert report.uncovered.sizes.tolist() == [row["batch"]]
        else:
            assert bucket == row["bucket"]
            assert report.padded_total == row["pad_rows"]
            assert 100 * report.waste == pytest.approx(row["waste_pct"], abs=0.01)


def test_waste_and_overhead_differ():
    """Waste divides by the bucket, overhead by the useful rows."""
    given_, expect = case("D-PAD-02")
    report = report_of({given_["batch"]: 1}, [given_["bucket"]])
    assert 100 * report.waste == pytest.approx(expect["waste_pct"], abs=0.01)
    assert 100 * report.overhead == pytest.approx(expect["overhead_pct"], abs=0.01)


def test_a_list_is_sorted_and_unrepeated_first():
    """Order and repeats of a typed list do not matter."""
    given_, expect = case("D-PAD-03")
    report = report_of({given_["batch"]: 1}, given_["sizes"])
    assert list(report.capture_sizes) == expect["sizes"]
    assert bucket_of([given_["batch"]], given_["sizes"]).tolist() == [expect["bucket"]]
    assert report.padded_total == expect["pad_rows"]
    assert 100 * report.waste == expect["waste_pct"]


def test_report_over_a_histogram():
    """Waste is weighted by rows over graph steps; the mean of each step's waste is another."""
    given_, expect = case("D-TRACE-01")
    report = report_of(histogram_counts(given_["histogram"]), given_["sizes"])
    assert report.steps == expect["steps"]
    assert report.graph_steps == expect["graph_steps"]
    assert report.eager_steps == expect["eager_steps"]
    assert report.useful_slots == expect["real_rows"]
    assert report.total_slots == expect["padded_rows"]
    assert report.padded_total == expect["pad_rows"]
    assert 100 * report.coverage == pytest.approx(expect["coverage_pct"])
    assert 100 * report.waste == pytest.approx(expect["waste_pct"], abs=0.01)
    assert 100 * report.mean_step_waste == pytest.approx(expect["mean_step_waste_pct"], abs=0.01)
    pairs = zip(report.capture_sizes, report.hits.tolist(), strict=True)
    assert {size: hits for size, hits in pairs if hits} == histogram_counts(expect["hits"])


def test_unused_buckets():
    """A bucket without a step can go: neither waste nor coverage changes."""
    given_, expect = case("D-TRACE-02")
    counts = histogram_counts(given_["histogram"])
    report = report_of(counts, given_["sizes"])
    assert list(report.unused) == expect["unused"]
    assert 100 * report.droppable_share == pytest.approx(expect["droppable_share_pct"], abs=0.01)
    lean = report_of(counts, expect["used"])
    assert (lean.waste, lean.coverage, lean.unused) == (report.waste, report.coverage, ())


def test_steps_from_request_intervals():
    """Running requests counted step by step give the histogram whose padding is asked for."""
    given_, expect = case("D-TRACE-03")
    running = [
        sum(r["start_step"] <= t < r["end_step"] for r in given_["requests"]) for t in range(10)
    ]
    histogram = StepHistogram.from_batches([n for n in running if n])
    pairs = zip(histogram.sizes.tolist(), histogram.steps.tolist(), strict=True)
    assert dict(pairs) == histogram_counts(expect["histogram"])
    report = padding_report(histogram, given_["sizes"])
    assert (report.padded_total, report.eager_steps) == (expect["pad_rows"], expect["eager_steps"])


def test_sparse_sizes_waste_between_buckets():
    """Few sizes over a wide range pad small batches to many times their size."""
    given_, expect = case("D-STREAM-03")
    for row in expect["rows"]:
        report = report_of({row["batch"]: 1}, given_["sizes"])
        assert bucket_of([row["batch"]], given_["sizes"])[0] == row["bucket"]
        assert 100 * report.waste == pytest.approx(row["waste_pct"], abs=0.01)


def test_a_ratio_over_nothing_is_zero():
    """No step at all: no waste, no overhead, no coverage, and no division by zero."""
    report = report_of({}, [1, 2])
    assert (report.waste, report.overhead, report.coverage, report.mean_step_waste) == (0,) * 4
    assert report.unused == (1, 2)


def test_counts_beyond_64_bits_do_not_wrap():
    """2**61 steps of size 3 in bucket 4 are 2**63 slots, one more than int64 holds."""
    histogram = StepHistogram(np.array([3]), np.array([2**61]))
    report = padding_report(histogram, [4])
    assert (report.total_slots, report.padded_total) == (2**63, 2**61)
    assert report.waste == 0.25


@pytest.mark.parametrize("sizes", [[], [0], [-4, 8], [2.5]])
def test_a_list_that_is_none_is_refused(sizes):
    """Capture sizes are whole numbers of 1 or more, at least one."""
    with pytest.raises(CaptureSizesError):
        padding_report(StepHistogram.from_batches([1]), sizes)


@given(histograms())
def test_capturing_every_size_pads_nothing(histogram):
    """A graph for each size that occurs: no padded slot, no eager step."""
    report = padding_report(histogram, histogram.sizes)
    assert (report.padded_total, report.eager_steps, report.unused) == (0, 0, ())


@given(histograms(), capture_sizes(), st.data())
def test_one_more_size_below_the_largest_never_pads_more(histogram, sizes, data):
    """A size added below the largest serves some steps closer and leaves the rest as they were."""
    extra = data.draw(st.integers(1, sizes[-1]))
    before, after = padding_report(histogram, sizes), padding_report(histogram, (*sizes, extra))
    assert after.padded_total <= before.padded_total
    assert after.coverage == before.coverage


@given(histograms(), capture_sizes())
def test_the_parts_add_up(histogram, sizes):
    """Every step is either a hit or eager; slots are useful or padded; both views agree."""
    report = padding_report(histogram, sizes)
    assert report.hits.sum() + report.eager_steps == histogram.total_steps
    assert report.uncovered.total_steps == report.eager_steps
    assert report.padded_slots.sum() == report.padded_by_size.sum() == report.padded_total
    assert report.useful_slots + report.uncovered.useful_slots == histogram.useful_slots
    assert 0 <= report.waste < 1
    assert normalised_sizes(sizes) == report.capture_sizes


def test_summary_names_what_runs_eager():
    """The caption says how much is padding, what runs eager, and what is never used."""
    text = report_of({3: 1, 9: 3}, [4, 8]).summary()
    assert "25.0 % of the replayed slots" in text
    assert "3 steps above 8 run eager" in text
    assert "1 graph is never used" in text
