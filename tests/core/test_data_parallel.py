"""Ranks that step together: by the right values and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.data_parallel import RankRule, independent_max, rank_histogram, rank_step
from core.errors import CaptureSizesError, HistogramError
from core.records import StepHistogram
from tests.core.cases import case


def test_one_busy_rank_makes_all_run_its_bucket():
    """384 tokens on one of 8 ranks: every rank runs 384, seven of eight rows for nothing."""
    given_, expect = case("D-DP-01")
    found = rank_step(given_["tokens"], given_["sizes"])
    assert (found.bucket, found.processed, found.useful) == (
        expect["bucket"],
        expect["processed"],
        expect["useful"],
    )
    assert 100 * found.waste == pytest.approx(expect["waste_pct"], abs=0.01)


def test_max_rule_against_sum_rule():
    """The sum rule needs larger graphs on every rank."""
    given_, expect = case("D-DP-02")
    for rule in RankRule:
        found = rank_step(given_["tokens"], given_["sizes"], rule)
        wanted = expect[rule.value]
        assert (found.bucket, found.processed) == (wanted["bucket"], wanted["total_rows"])
        assert found.useful == expect["useful"]


def test_one_request_on_eight_ranks():
    """Idle ranks run a row too: 8 rows for 1."""
    given_, expect = case("D-DP-03")
    tokens = [given_["global_batch"], *[0] * (given_["dp"] - 1)]
    found = rank_step(tokens, [1, 2, 4])
    assert found.processed == expect["rows"]
    assert 100 * found.waste == expect["waste_pct"]


def test_histogram_of_the_common_bucket():
    """Each step counts with what its bucket must hold; an idle moment is no step."""
    rows = [[3, 9, 1], [2, 2, 2], [0, 0, 0], [0, 9, 0]]
    largest = rank_histogram(rows)
    assert (largest.sizes.tolist(), largest.steps.tolist()) == ([2, 9], [1, 2])
    total = rank_histogram(rows, RankRule.SUM)
    assert (total.sizes.tolist(), total.steps.tolist()) == ([6, 9, 13], [1, 1, 1])


def test_independent_ranks_by_hand():
    """Two ranks that are 1 or 2 with equal chance: the larger is 2 three times out of four."""
    histogram = StepHistogram(np.array([1, 2]), np.array([500, 500]))
    found = independent_max(histogram, 2)
    assert found.steps.tolist() == [250, 750]
    assert "assumed" in found.source
    assert independent_max(histogram, 1).steps.tolist() == [500, 500]


def test_what_no_graph_holds_is_said():
    """Larger than every graph: the whole step is eager on all ranks."""
    with pytest.raises(CaptureSizesError, match="No capture size holds 9 tokens"):
        rank_step([9, 1], [8])
    with pytest.raises(HistogramError):
        rank_step([], [8])
    with pytest.raises(HistogramError):
        rank_histogram([[1, -1]])
