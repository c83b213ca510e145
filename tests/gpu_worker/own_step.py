"""A step of a user's own, for spec.target "callable:tests.gpu_worker.own_step:make"."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from core.records import MeasureSpec


class Scale:
    """y = x * weight, one row a request."""

    def __init__(self, device: torch.device) -> None:
        self.weight = torch.arange(1.0, 5.0, device=device)

    def fields(self) -> Mapping[str, tuple[tuple[int, ...], torch.dtype]]:
        return {"x": ((4,), torch.float32)}

    def padding(self) -> Mapping[str, int]:
        return {"x": 0}

    def batch(self, size: int, round: int) -> Mapping[str, torch.Tensor]:
        return {"x": torch.full((size, 4), float(round + 1))}

    def step(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return inputs["x"] * self.weight


class Waiting(Scale):
    """The same, but it looks at a value on the way."""

    def step(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        if inputs["x"].sum().item() < 0:
            return -inputs["x"]
        return super().step(inputs)


def make(spec: MeasureSpec, device: torch.device) -> Scale:
    return Scale(device)


def make_waiting(spec: MeasureSpec, device: torch.device) -> Waiting:
    return Waiting(device)


def make_nothing(spec: MeasureSpec, device: torch.device) -> None:
    return None
