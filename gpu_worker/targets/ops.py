"""Which implementation of the step's parts a device gets: Triton kernels, or plain torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch.nn import functional

from core.records import ModelShape
from gpu_worker.targets import plain_ops


@dataclass(frozen=True)
class Ops:
    """The parts, with plain_ops' signatures; linear(x, weight) is x @ weight.T."""

    name: str
    add_norm: Callable[..., tuple[torch.Tensor, torch.Tensor]]
    rotate_and_store: Callable[..., torch.Tensor]
    attend: Callable[..., torch.Tensor]
    gated_activation: Callable[[torch.Tensor], torch.Tensor]
    linear: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    experts: Callable[..., torch.Tensor]


PLAIN = Ops(
    "plain torch",
    plain_ops.add_norm,
    plain_ops.rotate_and_store,
    plain_ops.attend,
    plain_ops.gated_activation,
    functional.linear,
    plain_ops.experts,
)


def choose(device: torch.device, shape: ModelShape) -> Ops:
    """Triton's on cards from Ampere on, for heads that its tiles can hold; else plain torch."""
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        return PLAIN
    if shape.head_dim < 16 or shape.head_dim & (shape.head_dim - 1):
        return PLAIN
    try:
        from gpu_worker.targets.kernels import attention, experts, fused, linear
    except ImportError:
        return PLAIN
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    return Ops(
        "triton",
        fused.add_norm,
        fused.rotate_and_store,
        partial(attention.attend, processors=processors),
        fused.gated_activation,
        linear.linear,
        experts.experts,
    )
