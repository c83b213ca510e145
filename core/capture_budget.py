"""How many graphs, and what capturing them costs: counts, seconds, memory, a fleet's hours.

Straight-line estimates, and named so: graphs differ, and a shared pool grows less than their count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import SettingError


def _positive(label: str, value: float) -> float:
    if not math.isfinite(value) or value <= 0:
        raise SettingError(f"{label} is {value:g}; give a number above 0.")
    return value


@dataclass(frozen=True)
class GraphLimit:
    """The most graphs that memory and start-up time allow; None = no limit of that kind."""

    by_memory: int | None
    by_time: int | None

    @property
    def limit(self) -> int | None:
        known = [n for n in (self.by_memory, self.by_time) if n is not None]
        return min(known) if known else None

    @property
    def binding(self) -> str | None:
        """Which one binds: "memory", "time", "both", or None."""
        if self.limit is None:
            return None
        pairs = (("memory", self.by_memory), ("time", self.by_time))
        names = [name for name, n in pairs if n == self.limit]
        return names[0] if len(names) == 1 else "both"


def graph_limit(
    *,
    memory_bytes: float | None = None,
    graph_bytes: float = 0.0,
    fixed_bytes: float = 0.0,
    seconds: float | None = None,
    graph_seconds: float = 0.0,
) -> GraphLimit:
    """floor((memory - fixed) / a graph) and floor(time / a capture); at least 0.

    Raises SettingError.
    """
    by_memory = by_time = None
    if memory_bytes is not None:
        left = memory_bytes - fixed_bytes
        by_memory = max(0, math.floor(left / _positive("Memory of a graph", graph_bytes) + 1e-9))
    if seconds is not None:
        by_time = math.floor(seconds / _positive("Time of a capture", graph_seconds) + 1e-9)
    return GraphLimit(by_memory, by_time)


@dataclass(frozen=True)
class CaptureEstimate:
    """Graphs and what they cost if each costs the same: an estimate."""

    graphs: int
    seconds: float
    bytes: float


def captures(
    num_sizes: int, *, variants: int = 1, seconds_each: float = 0.0, bytes_each: float = 0.0
) -> CaptureEstimate:
    """One graph for every size and variant (adapter counts, with and without LoRA, modes).

    Raises SettingError.
    """
    if num_sizes < 0 or variants < 1:
        raise SettingError(f"{num_sizes} sizes in {variants} variants; give 0 and 1 or more.")
    graphs = num_sizes * variants
    return CaptureEstimate(graphs, graphs * seconds_each, graphs * bytes_each)


def graph_objects(piecewise_sizes: int, full_sizes: int, num_layers: int) -> tuple[int, int]:
    """(keys, CUDA graph objects): a piecewise key is cut at every attention layer.

    num_layers + 1 pieces a piecewise size, one graph a full size. Raises SettingError.
    """
    if min(piecewise_sizes, full_sizes, num_layers) < 0:
        raise SettingError("Sizes and layers are counts; give 0 or more.")
    keys = piecewise_sizes + full_sizes
    return keys, piecewise_sizes * (num_layers + 1) + full_sizes


def axis_product(*axes: int, extra: int = 0) -> int:
    """Buckets of several axes: every combination, and what is added to them."""
    if min((*axes, extra), default=0) < 0:
        raise SettingError("Buckets of an axis are a count; give 0 or more.")
    return math.prod(axes) + extra


@dataclass(frozen=True)
class FleetCost:
    """What a fleet spends on capturing each day."""

    captures_a_day: float
    gpu_hours: float
    cost: float


def fleet_cost(
    replicas: int,
    starts_a_day: float,
    capture_seconds: float,
    *,
    gpu_cost_per_hour: float = 0.0,
    gpus_per_replica: int = 1,
) -> FleetCost:
    """GPU hours and money that captures take at every start. Raises SettingError."""
    if min(replicas, starts_a_day, capture_seconds, gpu_cost_per_hour) < 0:
        raise SettingError("Replicas, starts, seconds and cost are 0 or more.")
    count = replicas * starts_a_day
    hours = count * capture_seconds * _positive("GPUs of a replica", gpus_per_replica) / 3600.0
    return FleetCost(count, hours, hours * gpu_cost_per_hour)


def scaled_seconds(capture_seconds: float, graphs: int, new_graphs: int) -> float:
    """Capture time of another number of graphs if each takes the same: an estimate."""
    return capture_seconds * new_graphs / _positive("The number of graphs", graphs)


def startup_share(parts: Mapping[str, float], part: str) -> tuple[float, float]:
    """(total, share of one part) of start-up phases [s]. Raises SettingError."""
    total = sum(parts.values())
    if part not in parts or total <= 0:
        raise SettingError(f"Start-up phases {', '.join(parts)} do not tell the share of {part}.")
    return total, parts[part] / total
