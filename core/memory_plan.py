"""Where a card's memory goes: budget, weights, activations, graphs, and what is left for KV."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.errors import SettingError
from core.memory import BLOCK_SIZE_TOKENS, kv_tokens

MIB = 2**20
MIN_GRAPH_BYTES = 1 * MIB
"""Least an engine books for a further graph (vLLM's estimate)."""


def _known(label: str, value: float, *, least: float = 0.0) -> float:
    if not math.isfinite(value) or value < least:
        raise SettingError(f"{label} is {value:g}; give {least:g} or more.")
    return float(value)


@dataclass(frozen=True)
class MemoryPlan:
    """One card's memory, part by part [bytes].

    utilization : share of the card that the engine may use
    activation_bytes : peak of intermediate tensors, an assumption until the engine prints it
    other_bytes : CUDA context, communication buffers: what torch does not see
    """

    total_bytes: float
    utilization: float
    weight_bytes: float
    activation_bytes: float
    other_bytes: float
    graph_bytes: float

    def __post_init__(self) -> None:
        _known("Card memory", self.total_bytes)
        if not 0 < self.utilization <= 1:
            raise SettingError(
                f"The share of the card is {self.utilization}; give a number above 0, at most 1."
            )
        for label in ("weight_bytes", "activation_bytes", "other_bytes", "graph_bytes"):
            _known(label.replace("_", " "), getattr(self, label))

    @property
    def budget_bytes(self) -> float:
        """What the engine may use."""
        return self.total_bytes * self.utilization

    @property
    def free_bytes(self) -> float:
        """For graphs and KV cache together; below 0 where the model does not fit."""
        return self.budget_bytes - self.weight_bytes - self.activation_bytes - self.other_bytes

    @property
    def kv_bytes(self) -> float:
        """Left for the KV cache; 0 where nothing is."""
        return max(0.0, self.free_bytes - self.graph_bytes)

    @property
    def overshoot_bytes(self) -> float:
        """Beyond the budget if the KV cache is sized first and graphs are not counted."""
        return self.graph_bytes if self.free_bytes > 0 else max(0.0, -self.free_bytes)

    def tokens(
        self, bytes_per_token: float, block_size_tokens: int = BLOCK_SIZE_TOKENS
    ) -> tuple[int, int]:
        """Whole KV blocks and their tokens. Raises SettingError."""
        return kv_tokens(self.kv_bytes, bytes_per_token, block_size_tokens)


def equivalent_utilization(utilization: float, booked_bytes: float, total_bytes: float) -> float:
    """The share that gives the same KV cache without booking graphs: util - booked / total.

    Add instead of subtract for the share that restores the KV cache after booking.
    """
    _known("Card memory", total_bytes, least=1.0)
    return utilization - booked_bytes / total_bytes


@dataclass(frozen=True)
class EstimateCheck:
    """An engine's estimate of graph memory beside what was measured.

    difference_bytes : estimate - measured, as measured
    is_noise : the measured value is below 0, which no graph can be: taken as 0
    unused_bytes : booked beyond what was used; below 0 where graphs took more than was booked
    """

    estimated_bytes: float
    measured_bytes: float

    @property
    def difference_bytes(self) -> float:
        return self.estimated_bytes - self.measured_bytes

    @property
    def is_noise(self) -> bool:
        return self.measured_bytes < 0

    @property
    def unused_bytes(self) -> float:
        return self.estimated_bytes - max(0.0, self.measured_bytes)

    @property
    def factor(self) -> float | None:
        """Estimate / measured; None where nothing was measured."""
        return self.estimated_bytes / self.measured_bytes if self.measured_bytes > 0 else None

    def unused_tokens(self, bytes_per_token: float) -> int:
        """KV tokens that could have stood in the unused memory; below 0: too little was booked."""
        return math.floor(self.unused_bytes / _known("KV bytes a token", bytes_per_token, least=1))

    def sentence(self) -> str:
        """In words."""
        words = f"the engine books {self.estimated_bytes / MIB:,.0f} MiB for graphs"
        if self.is_noise:
            return (
                f"{words}; {self.measured_bytes / MIB:,.0f} MiB were measured, which is noise: "
                "taken as 0"
            )
        return f"{words}, they took {self.measured_bytes / MIB:,.0f} MiB" + (
            f" ({self.factor:.2f} x)" if self.factor is not None else ""
        )


def extrapolated_bytes(first_bytes: float, marginal_bytes: float, num_graphs: int) -> float:
    """An engine's estimate: the first graph, and the same for each further one.

    Too much for a shared pool, where later graphs reuse freed blocks. At least 1 MiB a graph.
    Source: vLLM's profile of two captures before the KV cache is sized.
    """
    _known("The first graph", first_bytes)
    if num_graphs < 0:
        raise SettingError(f"The number of graphs is {num_graphs}; give 0 or more.")
    if num_graphs == 0:
        return 0.0
    return first_bytes + max(marginal_bytes, MIN_GRAPH_BYTES) * (num_graphs - 1)
