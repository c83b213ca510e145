"""What can be captured; one file a target, found by the name in the spec."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from core.errors import SettingError
from core.records import MeasureSpec

if TYPE_CHECKING:
    import torch

KNOWN = ("llama",)


class Target(Protocol):
    """One step of a model, as a function of named static inputs.

    `step` must be capturable: no host synchronisation, no shape that depends on data, all
    inputs read from the tensors it is given.
    """

    def fields(self) -> Mapping[str, tuple[tuple[int, ...], torch.dtype]]:
        """Shape of one row and dtype of every input; a batch stacks rows."""
        ...

    def padding(self) -> Mapping[str, int]:
        """What a row holds that no request uses: values that touch no live request's memory."""
        ...

    def batch(self, size: int, round: int) -> Mapping[str, torch.Tensor]:
        """Inputs of `size` live requests, on the CPU; another round gives other values."""
        ...

    def step(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """One step for all rows given. Returns (rows, ...) [model dtype]."""
        ...

    def state(self) -> Sequence[torch.Tensor]:
        """What a step writes besides its result, (blocks, slots, ...); block 0 is padding."""
        ...

    def bytes_moved(self, size: int) -> int:
        """Fewest bytes the step reads from device memory at this size [bytes]."""
        ...

    def capacity(self) -> int:
        """Most requests of the spec's context that the KV cache holds."""
        ...


def build(spec: MeasureSpec, device: torch.device) -> Target:
    """The target that the spec names. Raises SettingError if there is none of that name."""
    if spec.target not in KNOWN:
        raise SettingError(f"Target {spec.target!r} is unknown; use one of {', '.join(KNOWN)}.")
    return importlib.import_module(f"gpu_worker.targets.{spec.target}").build(spec, device)
