"""Servers that each make one mistake of graph replay; the rehearsal must catch every one."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from gpu_worker.serving import ReplayServer

Batch = Mapping[str, torch.Tensor]


class NoClone(ReplayServer):
    """Hands out the graph's own output, which the next replay overwrites."""

    def keep(self, output: torch.Tensor, live: int) -> torch.Tensor:
        return output[:live]


class Rebound(ReplayServer):
    """Binds new tensors to the inputs' names after the first step, and looks away."""

    filled = False

    def fill(self, batch: Batch) -> None:
        if not self.filled:
            super().fill(batch)
            self.filled = True
            return
        live = len(next(iter(batch.values())))
        for name, old in self.inputs.tensors.items():
            new = old.clone()
            new[:live] = batch[name].to(new)
            self.inputs.tensors[name] = new
        self.inputs._addresses = {n: t.data_ptr() for n, t in self.inputs.tensors.items()}


class StaleRows(ReplayServer):
    """Fills the live rows only: rows of ended requests go on writing into their old slots."""

    def fill(self, batch: Batch) -> None:
        live = len(next(iter(batch.values())))
        for name, tensor in self.inputs.tensors.items():
            tensor[:live] = batch[name].to(tensor)


class PaddingInALiveSlot(ReplayServer):
    """Padded rows write where the first live request's token lies."""

    def fill(self, batch: Batch) -> None:
        super().fill(batch)
        live = len(next(iter(batch.values())))
        self.inputs.tensors["slots"][live:] = self.inputs.tensors["slots"][:1]


class OldTables(ReplayServer):
    """Forgets one input: block tables stay those of the first step."""

    first: torch.Tensor | None = None

    def fill(self, batch: Batch) -> None:
        super().fill(batch)
        tables = self.inputs.tensors["tables"]
        if self.first is None:
            self.first = tables.clone()
        tables.copy_(self.first)


class OffByOne(ReplayServer):
    """Gives each request the result of the row before it."""

    def keep(self, output: torch.Tensor, live: int) -> torch.Tensor:
        return output[:live].roll(1, 0).clone()


MUTANTS = [NoClone, Rebound, StaleRows, PaddingInALiveSlot, OldTables, OffByOne]
