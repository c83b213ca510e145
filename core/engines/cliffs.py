"""What falling off the graphs costs, and whether an admission limit stays on them."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import SettingError


@dataclass(frozen=True)
class Cliff:
    """Mean step time with a share of the steps running eager, and without [ms]."""

    with_ms: float
    without_ms: float

    @property
    def slowdown(self) -> float:
        return self.with_ms / self.without_ms


def cliff(share: float, graph_step_ms: float, eager_factor: float) -> Cliff:
    """A share of steps takes eager_factor times as long as on a graph.

    0.3 of the steps, 8 ms, factor 7.5: 0.3 x 60 + 0.7 x 8 = 23.6 ms against 8 ms.
    Raises SettingError for a share outside 0..1 or a time or factor that is not above 0.
    """
    if not 0 <= share <= 1:
        raise SettingError(f"The share of eager steps is {share}; 0 to 1 is expected.")
    if graph_step_ms <= 0 or eager_factor <= 0:
        raise SettingError("Step time and eager factor must be above 0.")
    eager_ms = graph_step_ms * eager_factor
    return Cliff(share * eager_ms + (1 - share) * graph_step_ms, graph_step_ms)


@dataclass(frozen=True)
class Admission:
    """Whether the limit, the median and the 95th percentile of running requests have a graph."""

    largest_graph: int
    max_running: int
    p50_running: int
    p95_running: int

    @property
    def limit_covered(self) -> bool:
        return self.max_running <= self.largest_graph

    @property
    def median_covered(self) -> bool:
        return self.p50_running <= self.largest_graph

    @property
    def p95_covered(self) -> bool:
        return self.p95_running <= self.largest_graph

    @property
    def advice(self) -> str:
        """What to change so that 95 % of the steps replay a graph; empty when they do."""
        if self.p95_covered:
            return ""
        return (
            f"raise the largest size to >= {self.p95_running} or lower the admission limit to "
            f"{self.largest_graph}"
        )
