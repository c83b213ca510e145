"""Inputs of the next step copied while this step runs: two streams, two landing buffers.

    host      stage 0 | stage 1 |  wait copied 0, stage 0 | ...
    copy      H2D 0 | H2D 1 | wait taken 0, H2D 0 | ...
    run       wait copied 0, take 0, replay | wait copied 1, take 1, replay | ...

Graphs read one fixed set of inputs, so that a landing buffer is taken into it on the run stream, a
copy within the device of some microseconds. Each wait has its event; leave one out and a step may
read half of the next one's inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from gpu_worker.buffers import StaticInputs
from gpu_worker.serving import Runner

DEPTH = 2


@dataclass
class Landing:
    """Where one step's inputs arrive.

    copied : the copy from the host is done, so the host may write `staged` again
    taken : the run stream has read `device`, so the copy stream may write it again
    """

    staged: torch.Tensor
    device: torch.Tensor
    copied: torch.cuda.Event = field(default_factory=torch.cuda.Event)
    taken: torch.cuda.Event = field(default_factory=torch.cuda.Event)


class Pipeline:
    """Serves batches with the copy of one beside the replay of the one before."""

    def __init__(self, inputs: StaticInputs, runner: Runner) -> None:
        self._inputs = inputs
        self._runner = runner
        self._copy = torch.cuda.Stream(inputs.device)
        self._run = torch.cuda.Stream(inputs.device)
        self._landings = [
            Landing(staged := inputs.empty_staged(), staged.to(inputs.device)) for _ in range(DEPTH)
        ]
        self._turn = 0

    def submit(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Queue one step; the host waits for no replay. Returns the live rows' results: valid
        after `finish`, or on a stream that waits for the run stream."""
        landing = self._landings[self._turn % DEPTH]
        self._turn += 1
        live = len(next(iter(batch.values())))
        bucket = self._runner.bucket_of(live)
        landing.copied.synchronize()
        self._inputs.stage(batch, into=landing.staged)
        with torch.cuda.stream(self._copy):
            self._wait_taken(landing)
            landing.device.copy_(landing.staged, non_blocking=True)
            landing.copied.record()
        with torch.cuda.stream(self._run):
            self._wait_copied(landing)
            self._inputs.copy_in(landing.device)
            landing.taken.record()
            return self._runner.replay(bucket)[:live].clone()

    def finish(self) -> None:
        """Wait until every submitted step is done."""
        self._run.synchronize()

    def _wait_taken(self, landing: Landing) -> None:
        torch.cuda.current_stream().wait_event(landing.taken)

    def _wait_copied(self, landing: Landing) -> None:
        torch.cuda.current_stream().wait_event(landing.copied)
