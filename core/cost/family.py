"""Profiles that belong together: one step on one card at several contexts, and its prompts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.records import Profile

PROMPTS_OF = {"llama": "llama-prefill", "callable": "llama-prefill", "vllm": "vllm-prefill"}
"""A decode step's target -> the target whose sizes are the tokens of one prompt's chunk."""


@dataclass(frozen=True)
class ProfileFamily:
    """A profile and its relatives.

    decode : the same step at each context, ascending, `profile` at its own
    prompts : prefill chunks of the same model on the same card
    twin : the same step at the same context captured the other way, in full or piecewise
    """

    profile: Profile
    decode: tuple[Profile, ...]
    prompts: Profile | None = None
    twin: Profile | None = None

    @property
    def contexts(self) -> tuple[int, ...]:
        """KV length of a request in each decode profile [tokens]."""
        return tuple(item.spec.context_tokens for item in self.decode)

    @property
    def others(self) -> tuple[Profile, ...]:
        """The decode profiles at other contexts."""
        return tuple(item for item in self.decode if item is not self.profile)


def same_model(one: Profile, other: Profile) -> bool:
    """One card's kind and one model's shape."""
    return (one.device.name, one.spec.model) == (other.device.name, other.spec.model)


def same_step(one: Profile, other: Profile) -> bool:
    """Whether two profiles measured one step, but for context and sizes.

    How graphs share memory, and how often was sampled, change no time.
    """
    a, b = one.spec, other.spec
    return same_model(one, other) and (a.target, a.capture, a.block_size_tokens, a.engine) == (
        *(b.target, b.capture, b.block_size_tokens, b.engine),
    )


def family_of(profile: Profile, others: Iterable[Profile]) -> ProfileFamily:
    """The relatives of a profile among others, which may hold itself too.

    Of several that would do, the one with the most samples counts, then the latest. A context
    counts if it shares a size with the profile, prompts if they have two sizes.
    """
    known = [item for item in others if same_model(profile, item) and item is not profile]
    known.sort(key=_weight, reverse=True)
    by_context = {profile.spec.context_tokens: profile}
    for item in known:
        if same_step(profile, item) and timed_sizes(profile) & timed_sizes(item):
            by_context.setdefault(item.spec.context_tokens, item)
    wanted = PROMPTS_OF.get(profile.spec.target.partition(":")[0])
    prompts = (
        item
        for item in known
        if item.spec.target == wanted
        and item.spec.engine == profile.spec.engine
        and len(item.rows) - _failed(item) > 1
    )
    return ProfileFamily(
        profile,
        tuple(by_context[context] for context in sorted(by_context)),
        next(prompts, None),
        next((item for item in known if timed_sizes(item) and _twins(profile, item)), None),
    )


def timed_sizes(profile: Profile) -> set[int]:
    """Sizes that were both replayed and run eagerly."""
    return {
        row.size
        for row in profile.rows
        if row.error is None and row.replay_us is not None and row.eager_us is not None
    }


def _failed(profile: Profile) -> int:
    return sum(row.error is not None for row in profile.rows)


def _twins(one: Profile, other: Profile) -> bool:
    a, b = one.spec, other.spec
    same = (a.target, a.block_size_tokens, a.context_tokens)
    return a.capture is not b.capture and same == (
        *(b.target, b.block_size_tokens, b.context_tokens),
    )


def _weight(profile: Profile) -> tuple[int, str]:
    return max((row.samples for row in profile.rows), default=0), profile.measured_at
