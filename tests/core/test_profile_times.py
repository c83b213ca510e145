"""Time of prompts and context from profiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.cost.context_grid import context_grid
from core.cost.family import family_of
from core.errors import SettingError
from core.records import DeviceInfo, MeasureRow, MeasureSpec, ModelShape, Origin, Profile
from core.simulate import Machine, family_times, prefill_from_profile, step_times
from core.step_cost import cost_from_profile

DEVICE = DeviceInfo("cuda", "card", True, copy_gbps=4000.0)
MODEL = ModelShape(name="8b", num_layers=32, num_kv_heads=8, head_dim=128)


def decode_profile(context: int, us_per_context_token: float = 0.03) -> Profile:
    """5,000 us + 20 us a row + so much for each token of context of each row."""
    rows = tuple(
        MeasureRow(
            size,
            eager_us=9_000.0 + size * context * us_per_context_token,
            replay_us=5_000.0 + 20 * size + size * context * us_per_context_token,
            samples=9,
        )
        for size in (1, 8, 32, 64)
    )
    return Profile(
        DEVICE, MeasureSpec((1, 8, 32, 64), model=MODEL, context_tokens=context), rows, ""
    )


def prompt_profile() -> Profile:
    """4,000 us + 20 us a token."""
    sizes = (128, 512, 2048)
    rows = tuple(MeasureRow(size, eager_us=4_000.0 + 20 * size, samples=9) for size in sizes)
    return Profile(DEVICE, MeasureSpec(sizes, target="llama-prefill", model=MODEL), rows, "")


def test_context_is_estimated_from_bytes():
    """2 x 32 layers x 8 heads x 128 x 2 bytes = 128 KiB a token, over 4,000 GB/s: 32.8 ns."""
    profile = decode_profile(512)
    found = prefill_from_profile(profile, cost_from_profile(profile))
    assert found.context_us_per_token == pytest.approx(0.032768)
    assert found.reference_context_tokens == 512
    assert found.origin is Origin.ASSUMED  # prompts still are
    assert "context estimated" in found.source and "prefill assumed" in found.source


def test_context_is_fitted_to_two_profiles():
    """Profiles at 512 and 2,048 tokens that differ by 0.03 us a token of every row say 0.03."""
    profile = decode_profile(512)
    found = prefill_from_profile(profile, cost_from_profile(profile), others=[decode_profile(2048)])
    assert found.context_us_per_token == pytest.approx(0.03, rel=1e-6)
    assert "context fitted to contexts 512 and 2048" in found.source


def test_context_of_several_profiles_and_at_another_context():
    """Three contexts at 0.03 us a token say 0.03; a cost that is at 1,000 tokens holds those."""
    profile, others = decode_profile(512), [decode_profile(4096), decode_profile(2048)]
    cost = context_grid([profile, *others]).cost_at(1000)
    found = prefill_from_profile(profile, cost, others=others, context_tokens=1000)
    assert found.context_us_per_token == pytest.approx(0.03, rel=1e-6)
    assert "contexts 512 and 2048 and 4096" in found.source
    assert found.reference_context_tokens == 1000
    times = step_times(cost, Machine(1000), (1, 8, 32, 64), found)
    assert times.decode_us[8] == pytest.approx(5_000 + 160, rel=0.02)


def test_prompts_are_fitted_to_their_own_profile():
    """4,000 + 20 a token come back; with both profiles everything is fitted."""
    profile = decode_profile(512)
    found = prefill_from_profile(
        *(profile, cost_from_profile(profile)),
        prompts=prompt_profile(),
        others=[decode_profile(2048)],
    )
    assert (found.base_us, found.us_per_token) == pytest.approx((4000, 20))
    assert found.origin is Origin.FITTED and "prefill fitted" in found.source
    times = step_times(cost_from_profile(profile), Machine(1000), (1, 8, 32, 64), found)
    # eight rows on their graph, without the 512 tokens each that the profile held
    assert times.decode_us[8] == pytest.approx(5_000 + 160, rel=0.02)
    assert times.origin is Origin.FITTED


def test_context_never_outgrows_the_step():
    """A card whose copy bandwidth is said to be 1 GB/s would need 131 us a token; nine tenths of
    the step are the most that is believed, and the source says it was cut."""
    profile = replace(decode_profile(512), device=replace(DEVICE, copy_gbps=1.0))
    cost = cost_from_profile(profile)
    found = prefill_from_profile(profile, cost)
    assert "nine tenths of a step" in found.source
    assert (step_times(cost, Machine(1000), (1, 8, 32, 64), found).decode_us[1:] > 0).all()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"others": [decode_profile(512)]}, "takes different ones"),
        ({"others": [replace(decode_profile(64), rows=())]}, "no replayed size in common"),
        ({"prompts": replace(prompt_profile(), rows=prompt_profile().rows[:1])}, "takes two"),
        ({"prompts": replace(prompt_profile(), device=replace(DEVICE, name="other"))}, "one model"),
    ],
)
def test_profiles_must_fit_together(changes, says):
    """Profiles that cannot be compared are refused with the reason."""
    profile = decode_profile(512)
    with pytest.raises(SettingError, match=says):
        prefill_from_profile(profile, cost_from_profile(profile), **changes)


def test_a_family_answers_at_its_own_and_at_another_context():
    """At its own context a profile's curve is untouched; at 1,280 tokens 64 rows take 23 us more
    a row; prompts come from the relative that measured them."""
    family = family_of(decode_profile(512), [decode_profile(2048), prompt_profile()])
    own, prefill = family_times(family)
    assert own.replay_us.tolist() == cost_from_profile(family.profile).replay_us.tolist()
    assert (prefill.base_us, prefill.us_per_token) == pytest.approx((4000, 20))
    longer, prefill = family_times(family, 1280)
    assert longer.replay_us[63] - own.replay_us[63] == pytest.approx(64 * 768 * 0.03, rel=1e-6)
    assert prefill.reference_context_tokens == 1280
