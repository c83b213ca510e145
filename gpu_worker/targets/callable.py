"""The user's own step: spec.target "callable:module:factory".

The factory is called as factory(spec, device) and returns an object with

    fields()   {name: (shape of one row, dtype)} of the step's inputs
    padding()  {name: value} for rows that no request uses; they must touch no live row's memory
    batch(size, round)  {name: CPU tensor of `size` rows}, other values for another round
    step(inputs)  the step for all rows of the given tensors; a tensor (rows, ...)

and, if it likes, state(), bytes_moved(size) and capacity() as in gpu_worker.targets.Target. The
step must read its inputs from the tensors it is given, must not wait for the device, and must
have no shape that depends on values.

Since this runs code by name, a worker calls only the factories that its own environment allows:
BUCKETWISE_CALLABLES, a comma-separated list of module:factory.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from core.errors import SettingError
from core.records import MeasureSpec

SETTING = "BUCKETWISE_CALLABLES"
REQUIRED = ("fields", "padding", "batch", "step")


def build(spec: MeasureSpec, device: torch.device) -> CallableTarget:
    """Raises SettingError when the factory is not allowed, not found, or gives something else."""
    name = spec.target.removeprefix("callable:")
    allowed = [part.strip() for part in os.environ.get(SETTING, "").split(",") if part.strip()]
    if name not in allowed:
        raise SettingError(
            f"Callable {name!r} is not allowed on this worker; start it with {SETTING}={name} to "
            "run that code."
        )
    module_name, _, factory_name = name.partition(":")
    try:
        factory = getattr(importlib.import_module(module_name), factory_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(f"Callable {name!r} cannot be loaded: {error}.") from error
    made = factory(spec, device)
    missing = [part for part in REQUIRED if not callable(getattr(made, part, None))]
    if missing:
        raise SettingError(f"Callable {name!r}: its result has no {missing[0]}().")
    return CallableTarget(made, max(spec.sizes))


class CallableTarget:
    """The user's object, completed. Follows gpu_worker.targets.Target."""

    def __init__(self, made: Any, max_size: int) -> None:
        self._made = made
        self._max_size = max_size

    def fields(self) -> Mapping[str, tuple[tuple[int, ...], torch.dtype]]:
        return self._made.fields()

    def padding(self) -> Mapping[str, int]:
        return self._made.padding()

    def batch(self, size: int, round: int) -> Mapping[str, torch.Tensor]:
        return self._made.batch(size, round)

    def step(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return self._made.step(inputs)

    def state(self) -> Sequence[torch.Tensor]:
        return self._made.state() if hasattr(self._made, "state") else ()

    def bytes_moved(self, size: int) -> int | None:
        """None: the target does not tell, and no bandwidth is shown."""
        return self._made.bytes_moved(size) if hasattr(self._made, "bytes_moved") else None

    def capacity(self) -> int:
        return self._made.capacity() if hasattr(self._made, "capacity") else self._max_size
