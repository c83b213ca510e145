"""Time of a step over size and context, from one step's profiles at several contexts.

Along size each profile has its fitted curve; along context straight lines join the curves, since
attention reads every token of every request once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.cost.family import same_step
from core.cost.fit import CurveFit
from core.cost.of_profile import cost_from_profile, fit_profile
from core.errors import SettingError
from core.records import FloatArray, IntArray, Origin, Profile, StepCost

LEAST_SHARE = 0.1
"""Below the shortest context a step keeps at least this share of its time there: weights."""
LAUNCH_BOUND = 1.05
"""An eager step this many times as long as its replay waits for the host."""


@dataclass(frozen=True)
class ContextGrid:
    """Curves of one step, a context each.

    contexts : (c,) ascending, KV length of each request [tokens]
    """

    contexts: tuple[int, ...]
    profiles: tuple[Profile, ...]
    replay: tuple[CurveFit, ...]
    eager: tuple[CurveFit, ...]

    def replay_us_at(self, sizes: Sequence[int] | IntArray, context_tokens: float) -> FloatArray:
        """Replay time of each size at one context: (n,) [us].

        Between measured contexts straight; outside with the nearest two's slope, if it rises.
        """
        values = _values(self.replay, sizes)
        result = self._along_context(values, context_tokens)
        return np.maximum(result, LEAST_SHARE * values[0])

    def eager_us_at(self, sizes: Sequence[int] | IntArray, context_tokens: float) -> FloatArray:
        """Eager time of each size at one context: (n,) [us].

        Outside the measured contexts a step that waits for the host keeps its time, until the
        card needs longer; one that waits for the card goes with the replay.
        """
        values = _values(self.eager, sizes)
        if self.measured(context_tokens):
            return self._along_context(values, context_tokens)
        nearest = -1 if context_tokens > self.contexts[-1] else 0
        edge = values[nearest]
        at_edge = _values(self.replay, sizes)[nearest]
        replay = self.replay_us_at(sizes, context_tokens)
        hosts = np.maximum(edge, replay)
        return np.where(edge > LAUNCH_BOUND * at_edge, hosts, edge - at_edge + replay)

    def measured(self, context_tokens: float) -> bool:
        """Whether a context lies within the measured ones."""
        return self.contexts[0] <= context_tokens <= self.contexts[-1]

    def _along_context(self, values: FloatArray, context_tokens: float) -> FloatArray:
        """values : (c, n). Returns (n,)."""
        if len(self.contexts) == 1:
            return values[0].copy()
        ends = np.array(self.contexts, np.float64)
        low = int(np.clip(np.searchsorted(ends, context_tokens) - 1, 0, len(ends) - 2))
        slope = (values[low + 1] - values[low]) / (ends[low + 1] - ends[low])
        if not self.measured(context_tokens):
            slope = np.maximum(slope, 0.0)
            low = 0 if context_tokens < ends[0] else len(ends) - 1
        return values[low] + slope * (context_tokens - ends[low])

    def cost_at(self, context_tokens: int) -> StepCost:
        """The step cost at one context; a measured context's own where there is one.

        Raises SettingError for a context below 1 token, and where one context was measured only.
        """
        if context_tokens < 1:
            raise SettingError(f"The context is {context_tokens} tokens; it must be 1 or more.")
        if context_tokens in self.contexts:
            return cost_from_profile(self.profiles[self.contexts.index(context_tokens)])
        if len(self.contexts) == 1:
            raise SettingError(
                f"The step was measured at a context of {self.contexts[0]} tokens only; measure a "
                f"second one to know it at {context_tokens}."
            )
        distances = [abs(context - context_tokens) for context in self.contexts]
        cost = cost_from_profile(self.profiles[int(np.argmin(distances))])
        inside = self.measured(context_tokens)
        return replace(
            cost,
            replay_us=np.maximum.accumulate(self.replay_us_at(cost.sizes, context_tokens)),
            eager_us=np.maximum.accumulate(self.eager_us_at(cost.sizes, context_tokens)),
            origin=Origin.FITTED if inside else Origin.ESTIMATED,
            source=self._source(context_tokens, "between" if inside else "beyond"),
        )

    def _source(self, context_tokens: int, where: str) -> str:
        first = self.profiles[0]
        spelled = " and ".join(f"{context:,}" for context in self.contexts)
        return (
            f"{first.device.name}, {first.spec.model.name}, context {context_tokens:,} tokens, "
            f"{where} the measured {spelled}"
        )


def context_grid(profiles: Sequence[Profile]) -> ContextGrid:
    """From profiles of one step, each at another context, in any order.

    Raises SettingError for none, for different steps, and for a context twice.
    """
    ordered = sorted(profiles, key=lambda profile: profile.spec.context_tokens)
    if not ordered:
        raise SettingError("No profile is given, so there is no step time over context.")
    for item in ordered[1:]:
        if not same_step(ordered[0], item):
            raise SettingError(
                f"The profiles are of different steps ({ordered[0].source}; {item.source}); give "
                "profiles of one model, card and way of capturing."
            )
    contexts = tuple(item.spec.context_tokens for item in ordered)
    if len(set(contexts)) < len(contexts):
        raise SettingError(f"A context is given twice ({contexts}); give one profile a context.")
    fits = [fit_profile(item) for item in ordered]
    return ContextGrid(
        contexts,
        tuple(ordered),
        tuple(replay for replay, _ in fits),
        tuple(eager for _, eager in fits),
    )


def _values(curves: Sequence[CurveFit], sizes: Sequence[int] | IntArray) -> FloatArray:
    """(c, n) [us]."""
    return np.array([curve.at(sizes) for curve in curves])
