"""Where a card's memory goes, and an engine's estimate beside what was measured."""

from __future__ import annotations

import pytest

from core.errors import SettingError
from core.memory_plan import (
    EstimateCheck,
    MemoryPlan,
    equivalent_utilization,
    extrapolated_bytes,
)
from tests.core.cases import case

GIB, MIB = 2**30, 2**20


def test_a_whole_plan():
    """Budget minus weights, activations, the rest and graphs; uncounted graphs overshoot."""
    given_, expect = case("D-KV-05")
    plan = MemoryPlan(
        given_["total_GiB"] * GIB,
        given_["util"],
        given_["weights_GiB"] * GIB,
        given_["activation_GiB"] * GIB,
        given_["non_torch_GiB"] * GIB,
        given_["graphs_GiB"] * GIB,
    )
    assert plan.budget_bytes / GIB == pytest.approx(expect["budget_GiB"])
    assert plan.kv_bytes / GIB == pytest.approx(expect["kv_GiB"])
    assert plan.tokens(given_["bytes_per_token"], 1)[1] == pytest.approx(expect["tokens"], abs=1)
    assert plan.overshoot_bytes / GIB == pytest.approx(expect["overshoot_GiB"])


def test_equivalent_utilization():
    """Booking 0.63 of 31.5 GiB is as if the share were 2 points lower."""
    given_, expect = case("D-KV-01")
    args = (given_["util"], given_["estimate_GiB"] * GIB, given_["total_GiB"] * GIB)
    assert equivalent_utilization(*args) == pytest.approx(expect["equivalent"], abs=1e-4)
    restore = equivalent_utilization(args[0], -args[1], args[2])
    assert restore == pytest.approx(expect["restore"], abs=1e-4)


def test_a_measurement_below_zero_is_noise():
    """A graph cannot give memory back: the whole estimate was booked for nothing."""
    given_, expect = case("D-KV-04")
    check = EstimateCheck(given_["estimated_GiB"] * GIB, given_["measured_GiB"] * GIB)
    assert check.difference_bytes / GIB == pytest.approx(expect["difference_GiB"])
    assert check.is_noise and "noise" in check.sentence()
    assert check.unused_tokens(given_["bytes_per_token"]) == pytest.approx(expect["tokens"], abs=1)


def test_extrapolation_against_a_shared_pool():
    """First + marginal x (n - 1) books 7.3 times what the pool takes; KV loses the difference."""
    given_, expect = case("D-MEM-02")
    estimate = extrapolated_bytes(
        given_["first_MiB"] * MIB, given_["second_marginal_MiB"] * MIB, given_["graphs"]
    )
    assert estimate / MIB == expect["estimate_MiB"]
    check = EstimateCheck(estimate, given_["actual_pool_MiB"] * MIB)
    assert check.unused_bytes / MIB == expect["error_MiB"]
    assert check.factor == pytest.approx(expect["factor"], abs=0.01)
    assert check.unused_bytes / GIB == pytest.approx(expect["kv_lost_GiB"], abs=0.01)


def test_extrapolation_by_hand():
    """No graph costs nothing, one costs the first, and a further one at least 1 MiB."""
    assert [extrapolated_bytes(10 * MIB, 0, n) / MIB for n in (0, 1, 2, 3)] == [0, 10, 11, 12]


def test_a_model_that_does_not_fit():
    """Nothing is left, and what is missing is the overshoot."""
    plan = MemoryPlan(24 * GIB, 0.5, 15 * GIB, 1 * GIB, 0, 1 * GIB)
    assert (plan.kv_bytes, plan.free_bytes, plan.overshoot_bytes) == (0, -4 * GIB, 4 * GIB)


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan")])
def test_a_share_of_a_card_is_one(share):
    """Above 0, at most 1."""
    with pytest.raises(SettingError, match="share of the card"):
        MemoryPlan(GIB, share, 0, 0, 0, 0)
