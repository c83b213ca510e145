"""A graph's contract on the CPU: fixed inputs, one output that every replay overwrites."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from gpu_worker.buffers import StaticInputs

Step = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]


class StandInRunner:
    """Reads the tensors it was captured with, whatever is bound to the inputs' names later, and
    leaves its result where the largest graph's result lies, as graphs of one pool do."""

    def __init__(self, step: Step, inputs: StaticInputs, sizes: tuple[int, ...]) -> None:
        self._step = step
        self._views = {size: inputs.views(size) for size in sizes}
        self._output = step(self._views[max(sizes)]).clone()

    def bucket_of(self, size: int) -> int:
        return min(bucket for bucket in self._views if bucket >= size)

    def replay(self, size: int) -> torch.Tensor:
        self._output[:size] = self._step(self._views[size])
        return self._output[:size]
