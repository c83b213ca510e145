"""Does slow decoding keep itself slow: the batch that arrivals sustain on graphs and without."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.errors import SettingError


@dataclass(frozen=True)
class SteadyStates:
    """Running requests with and without graphs, by Little's law: arrivals x time in the system.

    graph_stable : the batch on graphs still fits the largest graph, so it stays there
    eager_stable : the batch of eager steps fits none, so it stays eager
    """

    graph_batch: float
    eager_batch: float
    graph_stable: bool
    eager_stable: bool

    @property
    def verdict(self) -> str:
        """ "graphs", "eager", "bistable" (a burst does not recover) or "unstable" (neither)."""
        if self.graph_stable and self.eager_stable:
            return "bistable"
        if self.graph_stable:
            return "graphs"
        return "eager" if self.eager_stable else "unstable"

    @property
    def summary(self) -> str:
        """Words for people."""
        return {
            "bistable": "A burst that runs past the largest graph stays eager: capture larger "
            "sizes, or limit running requests to the largest graph.",
            "graphs": "After a burst the engine returns to its graphs.",
            "eager": "The load itself is past the largest graph: steps run eager.",
            "unstable": "On graphs the batch outgrows them, eager it shrinks below them again: the "
            "engine swings about the largest graph.",
        }[self.verdict]


def steady_states(
    *,
    arrival_per_s: float,
    residence_graph_s: float,
    residence_eager_s: float,
    largest_graph: int,
) -> SteadyStates:
    """Batches that a request rate sustains when requests stay so long.

    residence_* : time from admission to last token with graphs and without [s]
    Raises SettingError.
    """
    given = {
        "arrival_per_s": arrival_per_s,
        "residence_graph_s": residence_graph_s,
        "residence_eager_s": residence_eager_s,
        "largest_graph": largest_graph,
    }
    for name, value in given.items():
        if not (math.isfinite(value) and value > 0):
            raise SettingError(f"{name} is {value}; it must be above 0.")
    graph, eager = arrival_per_s * residence_graph_s, arrival_per_s * residence_eager_s
    return SteadyStates(graph, eager, graph <= largest_graph, eager > largest_graph)
