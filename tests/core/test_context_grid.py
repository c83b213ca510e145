"""Step time over size and context, and which profiles belong together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cost.context_grid import context_grid
from core.cost.family import family_of, same_step
from core.errors import SettingError
from core.profiles import comparison_profiles, shipped_profiles
from core.records import CaptureMode, DeviceInfo, MeasureRow, MeasureSpec, Origin, Profile
from core.step_cost import cost_from_profile

SIZES = (1, 8, 32, 64)
HOST_US = 12_000.0
EVERY = {**shipped_profiles(), **comparison_profiles()}


def profile(context: int, **changes) -> Profile:
    """A replay of 5,000 us + 20 a row + 0.03 a token of each row; eager takes 12,000 at least."""
    device_us = {size: 5_000.0 + 20 * size + 0.03 * size * context for size in SIZES}
    rows = tuple(
        MeasureRow(size, eager_us=max(HOST_US, us), replay_us=us, samples=9)
        for size, us in device_us.items()
    )
    spec = MeasureSpec(SIZES, context_tokens=context, **changes)
    return Profile(DeviceInfo("cuda", "card", True), spec, rows, "2026-11-30")


def test_between_two_contexts_by_hand():
    """Half-way between 512 and 1,536 tokens, 64 rows: 5,000 + 1,280 + 64 x 1,024 x 0.03."""
    grid = context_grid([profile(1536), profile(512)])
    assert grid.contexts == (512, 1536)
    expected = 5_000 + 1_280 + 64 * 1_024 * 0.03
    assert grid.replay_us_at([64], 1024) == pytest.approx([expected])
    cost = grid.cost_at(1024)
    assert cost.replay_us[63] == pytest.approx(expected) and cost.origin is Origin.FITTED
    assert "context 1,024 tokens, between the measured 512 and 1,536" in cost.source


def test_beyond_the_contexts_it_is_an_estimate():
    """The slope goes on: at 4,096 tokens 64 rows take 14.1 ms, more than the host's 12, at 128
    tokens 6.5; the eager step waits for whichever is longer. 1 token costs no less than a tenth."""
    grid = context_grid([profile(512), profile(1536)])
    for context, replay in ((4096, 14_144.3), (128, 6_525.8)):
        assert grid.replay_us_at([64], context) == pytest.approx([replay], rel=1e-4)
        assert grid.eager_us_at([64], context) == pytest.approx([max(HOST_US, replay)], rel=1e-3)
        assert grid.cost_at(context).origin is Origin.ESTIMATED
    steep = replace(profile(512), rows=tuple(replace(r, replay_us=500.0) for r in profile(1).rows))
    low = context_grid([steep, profile(1536)]).replay_us_at(SIZES, 1)
    assert low == pytest.approx([50.0] * 4)


def test_a_step_that_waits_for_the_card_follows_it():
    """Eager 1 % above the replay at 1,536 tokens: so it stays, some 90 us above, at 4,096."""
    rows = tuple(replace(r, eager_us=1.01 * (r.replay_us or 0)) for r in profile(1536).rows)
    grid = context_grid([profile(512), replace(profile(1536), rows=rows)])
    gap = 0.01 * (5_000 + 1_280 + 64 * 1_536 * 0.03)
    replay = grid.replay_us_at([64], 4096)[0]
    assert grid.eager_us_at([64], 4096) == pytest.approx([replay + gap], rel=1e-3)


def test_a_measured_context_is_its_profiles_own():
    """At a context that was measured nothing is interpolated."""
    one, two = profile(512), profile(1536)
    found, expected = context_grid([one, two]).cost_at(1536), cost_from_profile(two)
    assert np.array_equal(found.replay_us, expected.replay_us) and found.source == expected.source


def test_measured_contexts_of_a_real_card():
    """H200, 8B: from 512 and 2,048 tokens, 1,024 tokens of 64 requests lie a third of the way up
    from 6.0 to 9.1 ms; every token costs about 0.03 us, its 128 KiB at the copy bandwidth."""
    shipped = shipped_profiles()
    grid = context_grid([shipped["h200-llama-8b"], shipped["h200-llama-8b-2k"]])
    low, high = (grid.replay_us_at([64], c)[0] for c in (512, 2048))
    assert (low, high) == pytest.approx((6_034, 9_068), abs=1)
    assert grid.replay_us_at([64], 1024)[0] == pytest.approx(low + (high - low) / 3)
    slope = (high - low) / 64 / 1536
    gbps = grid.profiles[0].device.copy_gbps
    assert gbps is not None
    assert slope == pytest.approx(2 * 32 * 8 * 128 * 2 / gbps / 1e3, rel=0.05)


@pytest.mark.parametrize(
    ("profiles", "says"),
    [
        ([], "No profile"),
        ([profile(512), profile(512)], "given twice"),
        ([profile(512), profile(1536, capture=CaptureMode.PIECEWISE)], "different steps"),
    ],
)
def test_profiles_that_make_no_grid(profiles, says):
    """None, the same context twice, or two different steps."""
    with pytest.raises(SettingError, match=says):
        context_grid(profiles)


def test_one_context_answers_for_itself_alone():
    """Another one is refused, with the way out, and so is a context of nothing."""
    grid = context_grid([profile(512)])
    assert grid.cost_at(512).replay_us[0] == pytest.approx(5_020 + 15.36)
    with pytest.raises(SettingError, match="512 tokens only; measure a second"):
        grid.cost_at(1024)
    with pytest.raises(SettingError, match="must be 1 or more"):
        grid.cost_at(0)


@given(st.integers(1, 20_000), st.integers(1, 200))
def test_longer_context_or_larger_step_is_never_faster(context, more):
    """Whatever the context, a cost never falls with size, nor from one context to a longer one."""
    grid = context_grid([profile(512), profile(1536)])
    one, two = grid.cost_at(context), grid.cost_at(context + more)
    for cost in (one, two):
        assert (np.diff(cost.replay_us) >= 0).all() and (np.diff(cost.eager_us) >= 0).all()
    assert (two.replay_us >= one.replay_us - 1e-6).all()


def test_the_family_of_a_shipped_profile():
    """The 8B decode step: two contexts, its prompts, and itself cut in pieces; the comparisons of
    pools, of the same context and fewer samples, stand back."""
    shipped = shipped_profiles()
    found = family_of(shipped["h200-llama-8b-2k"], EVERY.values())
    assert found.contexts[:2] == (512, 2048)
    assert found.others[0] is shipped["h200-llama-8b"]
    assert found.prompts is comparison_profiles()["h200-llama-8b-prefill"]
    assert found.twin is None  # piecewise was measured at 512
    small = family_of(shipped["h200-qwen-0.5b"], EVERY.values())
    assert small.contexts[:2] == (512, 2048)
    assert small.prompts is None or small.prompts.spec.model == small.profile.spec.model
    cut = family_of(shipped["h200-llama-8b-piecewise"], EVERY.values())
    assert cut.contexts == (512,) and cut.twin is shipped["h200-llama-8b"]
    assert family_of(comparison_profiles()["h200-llama-8b-prefill"], EVERY.values()).prompts is None


def test_what_is_the_same_step():
    """Context, sizes, samples and pools may differ; model, target and cuts may not."""
    one = profile(512)
    assert same_step(one, profile(2048, samples=3))
    assert not same_step(one, profile(512, capture=CaptureMode.PIECEWISE))
    assert not same_step(one, profile(512, target="llama-prefill"))
    assert not same_step(one, replace(one, device=DeviceInfo("cuda", "another", True)))
    assert family_of(one, []).decode == (one,)


def test_relatives_that_could_not_be_used_are_left_out():
    """A context without a size in common, prompts of one size, a twin of failed rows."""
    one, far = profile(512), profile(2048)
    far = replace(far, rows=tuple(replace(row, size=row.size + 1000) for row in far.rows))
    prompts = profile(512, target="llama-prefill")
    prompts = replace(prompts, rows=prompts.rows[:1])
    twin = profile(512, capture=CaptureMode.PIECEWISE)
    twin = replace(twin, rows=tuple(MeasureRow(row.size, error="gone") for row in twin.rows))
    found = family_of(one, [far, prompts, twin])
    assert (found.contexts, found.prompts, found.twin) == ((512,), None, None)
