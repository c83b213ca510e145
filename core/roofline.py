"""Step times from a model's config and a card's peak figures: an estimate without a measurement.

Device time of a decode step is the longer of reading (weights once, each request's KV cache) and
computing. The host submits kernels one by one when eager, the whole graph at once when replaying.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.cards import Card
from core.errors import SettingError
from core.model.config import num_layers, text_config, weight_element
from core.model.memory import model_memory
from core.model.weight_count import count_weights, expert_weights
from core.records import FloatArray, Origin, SizeUnit, StepCost
from core.step_cost import CAPTURE_MS


@dataclass(frozen=True)
class Efficiency:
    """How much of the peak a step reaches, and what the host takes: assumptions, all adjustable.

    The host's terms follow an 8B Llama shape under vLLM 0.23 on an H200 (5.9 ms replayed and
    12.9 ms eager at batch 1).
    bandwidth, compute : shares of the card's peak
    kernels_per_layer, launch_us : an eager step submits one by one [us a kernel]
    graph_launch_us : submitting a whole graph [us]
    engine_us, engine_us_per_row : scheduling and sampling outside the graph [us]
    allreduce_us : one exchange between cards, two a layer, only with tensor parallel [us]
    """

    bandwidth: float = 0.8
    compute: float = 0.6
    kernels_per_layer: int = 14
    launch_us: float = 25.0
    graph_launch_us: float = 50.0
    engine_us: float = 1_700.0
    engine_us_per_row: float = 30.0
    allreduce_us: float = 10.0

    def __post_init__(self) -> None:
        for label in ("bandwidth", "compute"):
            if not 0 < getattr(self, label) <= 1:
                raise SettingError(
                    f"The share of the peak {label} is {getattr(self, label)}; above 0, at most 1."
                )
        rest = (self.launch_us, self.graph_launch_us, self.engine_us, self.engine_us_per_row)
        if not all(math.isfinite(term) and term >= 0 for term in (*rest, self.allreduce_us)):
            raise SettingError("Host times must be 0 or more.")


def touched_experts(num_experts: int, per_token: int, rows: FloatArray) -> FloatArray:
    """Experts that at least one of the rows uses, if rows choose independently: (n,).

    Source: expected distinct draws, E (1 - (1 - k / E)^n).
    """
    return num_experts * (1.0 - (1.0 - per_token / num_experts) ** rows)


@dataclass(frozen=True)
class StepBound:
    """Device and host time of one step at each size [us].

    read_us, compute_us : (n,) of the device; its step takes the longer
    """

    sizes: FloatArray
    read_us: FloatArray
    compute_us: FloatArray

    @property
    def device_us(self) -> FloatArray:
        return np.maximum(self.read_us, self.compute_us)

    @property
    def compute_bound_from(self) -> int | None:
        """Smallest size at which computing takes longer than reading; None within the range."""
        above = np.flatnonzero(self.compute_us > self.read_us)
        return int(self.sizes[above[0]]) if len(above) else None


def step_bound(
    config: Mapping[str, Any],
    card: Card,
    sizes: FloatArray,
    *,
    context_tokens: int = 1024,
    tp: int = 1,
    kv_dtype: str | None = None,
    efficiency: Efficiency | None = None,
) -> StepBound:
    """Reading and computing of decode steps on each of `tp` cards. Raises ModelConfigError."""
    efficiency = efficiency or Efficiency()
    model = model_memory(config, tp=tp, kv_dtype=kv_dtype)
    inner = text_config(config)
    element = weight_element(inner)[0]
    experts = expert_weights(inner)
    dense = count_weights(inner) - experts.total
    routed = np.zeros(len(sizes))
    per_row = float(dense)
    if experts.num_experts:
        each = experts.total / experts.num_experts
        routed = each * touched_experts(experts.num_experts, experts.per_token, sizes)
        per_row += each * experts.per_token
    weights = (dense + routed) * element / tp
    read = weights + sizes * model.kv_bytes_at(context_tokens)
    return StepBound(
        sizes,
        read / (card.bandwidth_gbps * 1e9 * efficiency.bandwidth) * 1e6,
        2.0 * per_row * sizes / tp / (card.tflops * 1e12 * efficiency.compute) * 1e6,
    )


def roofline_step_cost(
    config: Mapping[str, Any],
    card: Card,
    *,
    max_size: int = 512,
    context_tokens: int = 1024,
    tp: int = 1,
    kv_dtype: str | None = None,
    efficiency: Efficiency | None = None,
    capture_ms: float = CAPTURE_MS,
) -> StepCost:
    """Replay and eager times of a decode step from peak figures: estimated.

    context_tokens : KV length of each request [tokens]
    Raises ModelConfigError, SettingError.
    """
    if max_size < 1 or context_tokens < 0:
        raise SettingError("The largest size is 1 or more, the context 0 tokens or more.")
    efficiency = efficiency or Efficiency()
    sizes = np.arange(1, max_size + 1, dtype=float)
    bound = step_bound(
        config,
        card,
        sizes,
        context_tokens=context_tokens,
        tp=tp,
        kv_dtype=kv_dtype,
        efficiency=efficiency,
    )
    layers = num_layers(text_config(config))
    device = bound.device_us + (2 * layers * efficiency.allreduce_us if tp > 1 else 0.0)
    engine = efficiency.engine_us + efficiency.engine_us_per_row * sizes
    submit = efficiency.kernels_per_layer * layers * efficiency.launch_us
    return StepCost(
        sizes.astype(np.int64),
        engine + np.maximum(device, efficiency.graph_launch_us),
        engine + np.maximum(device, submit),
        np.full(max_size, capture_ms),
        Origin.ESTIMATED,
        f"estimated by roofline: {model_name(config)} on {tp} x {card.name}, context "
        f"{context_tokens} tokens, {100 * efficiency.bandwidth:.0f} % of {card.bandwidth_gbps:g} "
        f"GB/s and {100 * efficiency.compute:.0f} % of {card.tflops:g} TFLOP/s assumed",
        0.0,
        SizeUnit.REQUESTS,
    )


def model_name(config: Mapping[str, Any]) -> str:
    return str(config.get("_name_or_path") or config.get("model_type") or "model")
