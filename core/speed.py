"""Is a step bound by the host, and is a difference more than noise: what "faster" rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.errors import SettingError

FLAT_RATIO = 1.25
"""Latency may grow this much over a 4-fold batch or more and still count as flat."""


@dataclass(frozen=True)
class LaunchBound:
    """One step with and without a graph, host and device overlapping [ms].

    eager = max(host, device); graph = max(graph launch, device)
    """

    host_ms: float
    device_ms: float
    graph_launch_ms: float = 0.0

    def __post_init__(self) -> None:
        if min(self.host_ms, self.device_ms, self.graph_launch_ms) < 0 or self.device_ms == 0:
            raise SettingError("Host and launch times are 0 or more, the device's above 0.")

    @property
    def eager_ms(self) -> float:
        return max(self.host_ms, self.device_ms)

    @property
    def graph_ms(self) -> float:
        return max(self.graph_launch_ms, self.device_ms)

    @property
    def speedup(self) -> float:
        return self.eager_ms / self.graph_ms

    @property
    def bound(self) -> str:
        """What an eager step waits for: "cpu" or "gpu"."""
        return "cpu" if self.host_ms > self.device_ms else "gpu"


def submit_ms(kernels: int, launch_us: float) -> float:
    """Host time to submit an eager step's kernels one by one [ms]."""
    return kernels * launch_us / 1e3


@dataclass(frozen=True)
class PiecewiseOverhead:
    """What cutting a graph into pieces adds to each step: extra_ms, and its share of a step."""

    extra_ms: float
    share: float


def piecewise_overhead(pieces: int, us_per_piece: float, step_ms: float) -> PiecewiseOverhead:
    """Each piece is launched on its own. Raises SettingError."""
    if step_ms <= 0:
        raise SettingError(f"The step takes {step_ms} ms; give a number above 0.")
    extra = pieces * us_per_piece / 1e3
    return PiecewiseOverhead(extra, extra / step_ms)


@dataclass(frozen=True)
class Flatness:
    """Latency of the largest batch against the smallest, and throughput likewise."""

    latency_ratio: float
    throughput_ratio: float
    batch_ratio: float

    @property
    def host_bound(self) -> bool:
        """Flat over a 4-fold batch: the host sets the pace, and padding is almost free."""
        return self.batch_ratio >= 4 and self.latency_ratio <= FLAT_RATIO


def flatness(step_ms: Mapping[int, float]) -> Flatness:
    """From {batch: step time}. Raises SettingError for fewer than two batches."""
    if len(step_ms) < 2:
        raise SettingError("Two batch sizes or more tell whether latency is flat.")
    small, large = min(step_ms), max(step_ms)
    latency = step_ms[large] / step_ms[small]
    return Flatness(latency, large / small / latency, large / small)


@dataclass(frozen=True)
class Comparison:
    """Two sets of repeated results: means, difference as a share, and whether it is a gain."""

    base_mean: float
    candidate_mean: float
    noise: float

    @property
    def difference(self) -> float:
        return self.candidate_mean - self.base_mean

    @property
    def share(self) -> float:
        return self.difference / self.base_mean

    @property
    def beyond_noise(self) -> bool:
        return abs(self.difference) > self.noise


def compare_runs(base: Sequence[float], candidate: Sequence[float]) -> Comparison:
    """A difference counts if it exceeds the larger half-range of the two.

    Raises SettingError for fewer than two runs each: one run has no spread.
    """
    if min(len(base), len(candidate)) < 2:
        raise SettingError("Two runs or more of each are needed to tell a gain from noise.")
    halves = [(max(runs) - min(runs)) / 2 for runs in (base, candidate)]
    return Comparison(sum(base) / len(base), sum(candidate) / len(candidate), max(halves))
