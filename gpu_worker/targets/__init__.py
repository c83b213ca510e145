"""What can be captured; one file a target, found by the name in the spec."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from core.errors import SettingError
from core.records import MeasureSpec

if TYPE_CHECKING:
    import torch

MODULES = {"llama": "llama", "llama-prefill": "llama_prefill", "callable": "callable"}
"""Target by its name up to the first colon -> module of this package."""
ENGINE_STEPS = {"vllm": "decode", "vllm-prefill": "prefill", "vllm-mixed": "mixed"}
"""Steps of installed engines, which gpu_worker.driven measures -> the kind of step."""


class Target(Protocol):
    """One step of a model, as a function of named static inputs.

    `step` must be capturable: no host synchronisation, no shape that depends on data, all
    inputs read from the tensors it is given. A target that can be captured piecewise also has
    `pieces()`, a list of gpu_worker.recording.Piece.
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

    def bytes_moved(self, size: int) -> int | None:
        """Fewest bytes the step reads from device memory at this size [bytes]; None: unknown."""
        ...

    def capacity(self) -> int:
        """Largest size whose state fits the device."""
        ...


def check_target(name: str) -> str:
    """The module that builds it, or that starts its engine.

    Raises SettingError if there is no target of that name.
    """
    kind = name.partition(":")[0]
    if name in ENGINE_STEPS:
        return f"gpu_worker.targets.{name.partition('-')[0]}"
    if kind not in MODULES:
        known = ", ".join((*MODULES, *ENGINE_STEPS))
        raise SettingError(f"Target {name!r} is unknown; use one of {known}.")
    return f"gpu_worker.targets.{MODULES[kind]}"


def build(spec: MeasureSpec, device: torch.device) -> Target:
    """The target that the spec names. Raises SettingError if there is none of that name."""
    return importlib.import_module(check_target(spec.target)).build(spec, device)
