"""GraphRunner: capture, look up, replay, release; it owns graphs, not models or clocks."""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import torch

from core.errors import CaptureSizesError, JobError
from core.records import PoolPolicy
from gpu_worker import pool_memory
from gpu_worker.buffers import StaticInputs
from gpu_worker.failing import first_cause
from gpu_worker.recording import Pool, Recording, Views


class CaptureError(JobError):
    """A graph could not be captured; holds the first error, not the ones that follow it."""


class Capture(Protocol):
    """How a step becomes a recording: FullCapture or PiecewiseCapture."""

    def step(self, views: Views) -> torch.Tensor:
        """The step, eagerly."""
        ...

    def record(self, views: Views, pool: Pool, stream: torch.cuda.Stream) -> Recording:
        """The step, recorded on these inputs."""
        ...


@dataclass(frozen=True)
class Captured:
    """One size and what it took.

    capture_ms : recording and instantiating [ms]; instantiate_ms is the second part of it
    pool_growth_bytes : what the pool grew by; graph_bytes : what the driver took outside [bytes]
    """

    recording: Recording
    capture_ms: float
    instantiate_ms: float
    pool_growth_bytes: int
    graph_bytes: int
    nodes: dict[str, int] | None


@cache
def capture_stream(device: torch.device) -> torch.cuda.Stream:
    """The one stream of this process that warms up and captures. One, because the matrix library
    keeps a workspace a stream for good."""
    return torch.cuda.Stream(device)


class GraphRunner:
    """Graphs of one step by size."""

    def __init__(self, capture: Capture, inputs: StaticInputs, policy: PoolPolicy) -> None:
        self._how = capture
        self._inputs = inputs
        self._policy = policy
        self._device = inputs.device
        self._side = capture_stream(self._device)
        self._shared: Pool | None = None
        self.captured: dict[int, Captured] = {}

    def warm_up(self, size: int, rounds: int) -> None:
        """Run eagerly on the stream that captures: handles, workspaces and kernels get ready."""
        views = self._inputs.views(size)
        self._side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._side):
            for _ in range(max(1, rounds)):
                self._how.step(views)
        torch.cuda.current_stream().wait_stream(self._side)
        torch.cuda.synchronize()

    def capture(self, size: int) -> Captured:
        """Record the step at this size and keep its graph. Raises CaptureError."""
        pool = self._pool()
        held = pool_memory.pool_bytes(pool, self._device)
        before = pool_memory.level(self._device)
        begin = time.perf_counter()
        recording = self._record(size, pool)
        recorded = time.perf_counter()
        recording.instantiate()
        end = time.perf_counter()
        recording.replay()  # the first launch uploads the graph, which takes driver memory too
        after = pool_memory.level(self._device)
        self.captured[size] = Captured(
            recording=recording,
            capture_ms=(end - begin) * 1e3,
            instantiate_ms=(end - recorded) * 1e3,
            pool_growth_bytes=pool_memory.pool_bytes(pool, self._device) - held,
            graph_bytes=pool_memory.driver_bytes(before, after),
            nodes=recording.nodes(),
        )
        return self.captured[size]

    def private_pool_bytes(self, size: int) -> int:
        """What a graph of this size holds in a pool of its own: recorded, counted, dropped.

        Not instantiated: the driver would keep that memory, and the next graph seem to need none.
        """
        pool = torch.cuda.graph_pool_handle()
        recording = self._record(size, pool)
        held = pool_memory.pool_bytes(pool, self._device)
        recording.reset()
        torch.cuda.empty_cache()
        return held

    def bucket_of(self, size: int) -> int:
        """Smallest captured size that holds `size`. Raises CaptureSizesError above the top."""
        sizes = sorted(self.captured)
        at = bisect_left(sizes, size)
        if at == len(sizes):
            top = sizes[-1] if sizes else None
            raise CaptureSizesError(
                f"No capture size holds {size} requests; the largest is {top}. "
                f"Add {size}, or run the step eagerly."
            )
        return sizes[at]

    def replay(self, size: int) -> torch.Tensor:
        """Replay exactly this capture size; the result must be cloned to outlive the next one."""
        return self.captured[size].recording.replay()

    def release(self) -> None:
        """Drop all graphs and their pools."""
        torch.cuda.synchronize(self._device)
        for captured in self.captured.values():
            captured.recording.reset()
        self.captured.clear()
        self._shared = None
        torch.cuda.empty_cache()

    def _pool(self) -> Pool:
        if self._policy is PoolPolicy.PRIVATE:
            return torch.cuda.graph_pool_handle()
        if self._shared is None:
            self._shared = torch.cuda.graph_pool_handle()
        return self._shared

    def _record(self, size: int, pool: Pool) -> Recording:
        try:
            return self._how.record(self._inputs.views(size), pool, self._side)
        except Exception as error:
            raise CaptureError(first_cause(error)) from error
