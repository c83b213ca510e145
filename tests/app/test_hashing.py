"""Names for content: equal for equal content, however it came about."""

from __future__ import annotations

import gc
from dataclasses import replace

from app.compute import hashing
from app.compute.hashing import content_digest
from app.inputs.cost_choice import CostChoice
from core.records import DeviceInfo, MeasureRow, MeasureSpec, Profile


def profile(us: float = 9.0) -> Profile:
    rows = (MeasureRow(1, eager_us=us, nodes={"kernel": 3}),)
    return Profile(DeviceInfo("cuda", "card", True), MeasureSpec((1,)), rows, "2026-11-30")


def test_profiles_are_named_by_content():
    """Two objects of one content have one name, another time or context another; kept names go
    with their profile, so that a new object in its place is not mistaken for it."""
    one, same, other = profile(), profile(), profile(10.0)
    assert one is not same
    assert content_digest(one) == content_digest(same) != content_digest(other)
    choice = CostChoice("x", profile=one, relatives=(other,))
    assert content_digest(choice) == content_digest(replace(choice, profile=same))
    assert content_digest(choice) != content_digest(replace(choice, context_tokens=9))
    assert content_digest(choice) != content_digest(replace(choice, relatives=()))
    key = id(other)
    assert key in hashing._PROFILES
    del other, choice
    gc.collect()
    assert key not in hashing._PROFILES
