"""Step times fitted without an eager step: no page compares with running without graphs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app import compute, state
from app.inputs.cost_choice import CostChoice
from app.serving.choice import ServingLimits
from app.serving.runs import EAGER, plans_of
from core.cost.of_tokens import cost_by_tokens
from core.errors import SettingError
from core.records import BucketSet, SizeUnit, StepHistogram

STEPS = StepHistogram.from_mapping({1: 5, 8: 3})
VIEW = compute.cost_view(CostChoice("assumed"))
UNKNOWN = replace(VIEW, cost=replace(VIEW.cost, eager_us=VIEW.cost.replay_us, eager_known=False))


def test_break_even_needs_eager_steps():
    """With the assumed eager steps there is one; without any, a sentence says what is missing."""
    assert compute.bucket_break_even(STEPS, (1, 8), VIEW.cost).whole.net_us > 0
    with pytest.raises(SettingError, match="hold no eager step"):
        compute.bucket_break_even(STEPS, (1, 8), UNKNOWN.cost)


def test_serve_has_no_eager_yardstick():
    """The run without graphs is left out, and a sentence says why."""
    limits = ServingLimits(8, 2048, 100_000, 1.0)
    with state.as_if(state.Session()):
        known, _ = plans_of([BucketSet("My list", (1, 8))], limits, VIEW)
        plans, said = plans_of([BucketSet("My list", (1, 8))], limits, UNKNOWN)
    assert [plan.name for plan in known] == [EAGER, "My list"]
    assert [plan.name for plan in plans] == ["My list"]
    assert said[0].startswith(EAGER) and "enforce_eager" in said[0]


@pytest.mark.parametrize("unit", [SizeUnit.TOKENS, SizeUnit.LENGTH])
def test_steps_by_tokens_know_no_more(unit: SizeUnit):
    """A price by tokens that is made from decode steps knows eager as they do."""
    assert cost_by_tokens(unit, VIEW.cost).eager_known
    assert not cost_by_tokens(unit, UNKNOWN.cost).eager_known
