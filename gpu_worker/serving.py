"""A step served from graphs as an engine does it: fill the inputs, choose graph, replay, keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch

from core.errors import SettingError
from gpu_worker.buffers import StaticInputs


class Runner(Protocol):
    """Graphs of one branch of the step; GraphRunner, or a stand-in."""

    def bucket_of(self, size: int) -> int:
        """Smallest captured size that holds `size`."""
        ...

    def replay(self, size: int) -> torch.Tensor:
        """Replay this capture size; the result is overwritten by a later replay."""
        ...


class ReplayServer:
    """Serves batches of any size up to the largest capture size.

    What the step does on the host is fixed when its graph is captured; a step with a branch (with
    or without sampling, say) has a runner a branch, and the branch is chosen before the replay.
    """

    def __init__(self, inputs: StaticInputs, runners: Mapping[str, Runner]) -> None:
        self.inputs = inputs
        self.runners = dict(runners)

    def serve(self, batch: Mapping[str, torch.Tensor], branch: str = "") -> torch.Tensor:
        """One step. Returns the live rows' results, the caller's to keep.

        Raises SettingError (no such branch), CaptureSizesError (batch too large) or
        ReboundInputError.
        """
        if branch not in self.runners:
            known = ", ".join(repr(name) for name in self.runners)
            raise SettingError(f"No graph was captured for branch {branch!r}; there are {known}.")
        live = len(next(iter(batch.values())))
        runner = self.runners[branch]
        bucket = runner.bucket_of(live)
        self.fill(batch)
        self.inputs.check_addresses()
        return self.keep(runner.replay(bucket), live)

    def fill(self, batch: Mapping[str, torch.Tensor]) -> None:
        """Into the tensors that the graphs read, padding included."""
        self.inputs.copy_in(self.inputs.stage(batch))

    def keep(self, output: torch.Tensor, live: int) -> torch.Tensor:
        """A copy: the next replay of the pool writes where `output` lies."""
        return output[:live].clone()
