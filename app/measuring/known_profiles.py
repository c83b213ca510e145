"""The profiles that this browser session knows: those that ship and those measured in it."""

from __future__ import annotations

from app import compute, state
from app.inputs.cost_choice import CostChoice
from core.cost.family import ProfileFamily, family_of
from core.records import Profile, SizeUnit


def every_profile() -> dict[str, Profile]:
    """Whatever was measured, prefill chunks and comparisons too."""
    found = {f"Shipped: {name}": p for name, p in compute.profiles_that_ship().items()}
    found |= {f"Shipped: {name}": p for name, p in compute.profiles_to_compare().items()}
    return found | state.session().profiles


def known_profiles() -> dict[str, Profile]:
    """Profiles of decode steps with replay times, which can price the steps of the charts."""
    found = {f"Shipped: {name}": p for name, p in compute.profiles_that_ship().items()}
    found |= state.session().profiles
    return {name: p for name, p in found.items() if _prices_steps(p)}


def _prices_steps(profile: Profile) -> bool:
    replayed = any(row.replay_us for row in profile.rows)
    return replayed and profile.spec.unit is SizeUnit.REQUESTS


def family(profile: Profile) -> ProfileFamily:
    """A profile with its relatives among all that are known."""
    return family_of(profile, every_profile().values())


def profile_choice(name: str, profile: Profile, context_tokens: int | None = None) -> CostChoice:
    """A profile as step cost, at its own context or another one."""
    found = family(profile)
    prompts = () if found.prompts is None else (found.prompts,)
    relatives = (*found.others, *prompts)
    return CostChoice(name, profile=profile, relatives=relatives, context_tokens=context_tokens)
