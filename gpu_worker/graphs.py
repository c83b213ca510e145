"""GraphRunner: capture, look up, replay, release; it owns graphs, not models or clocks."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from core.errors import CaptureSizesError, JobError
from core.records import PoolPolicy
from gpu_worker import graph_nodes, pool_memory
from gpu_worker.buffers import StaticInputs

Pool = Any  # torch's pool handle, a pair of numbers that it keeps private
Step = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]


class CaptureError(JobError):
    """A graph could not be captured; holds the first error, not the ones that follow it."""


@dataclass(frozen=True)
class Captured:
    """One graph and what it took.

    output : where every replay leaves its result; the next replay of the pool may overwrite it
    capture_ms : recording and instantiating [ms]; instantiate_ms is the second part of it
    pool_growth_bytes : what the pool grew by; graph_bytes : what the driver took outside [bytes]
    """

    graph: torch.cuda.CUDAGraph
    output: torch.Tensor
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

    def __init__(self, step: Step, inputs: StaticInputs, policy: PoolPolicy) -> None:
        self._step = step
        self._inputs = inputs
        self._policy = policy
        self._device = next(iter(inputs.tensors.values())).device
        self._side = capture_stream(self._device)
        self._shared: Pool | None = None
        self.graphs: dict[int, Captured] = {}

    def warm_up(self, size: int, rounds: int) -> None:
        """Run eagerly on the stream that captures: handles, workspaces and kernels get ready."""
        views = self._inputs.views(size)
        self._side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._side):
            for _ in range(max(1, rounds)):
                self._step(views)
        torch.cuda.current_stream().wait_stream(self._side)
        torch.cuda.synchronize()

    def capture(self, size: int) -> Captured:
        """Record the step at this size and keep its graph. Raises CaptureError."""
        pool = self._pool()
        held = pool_memory.pool_bytes(pool, self._device)
        before = pool_memory.level(self._device)
        begin = time.perf_counter()
        graph, output = self._record(size, pool)
        recorded = time.perf_counter()
        graph.instantiate()
        end = time.perf_counter()
        graph.replay()  # the first launch uploads the graph, which takes driver memory too
        after = pool_memory.level(self._device)
        self.graphs[size] = Captured(
            graph=graph,
            output=output,
            capture_ms=(end - begin) * 1e3,
            instantiate_ms=(end - recorded) * 1e3,
            pool_growth_bytes=pool_memory.pool_bytes(pool, self._device) - held,
            graph_bytes=pool_memory.driver_bytes(before, after),
            nodes=graph_nodes.count(graph),
        )
        return self.graphs[size]

    def private_pool_bytes(self, size: int) -> int:
        """What a graph of this size holds in a pool of its own: recorded, counted, dropped.

        Not instantiated: the driver would keep that memory, and the next graph seem to need none.
        """
        pool = torch.cuda.graph_pool_handle()
        graph, output = self._record(size, pool)
        held = pool_memory.pool_bytes(pool, self._device)
        del output
        graph.reset()
        torch.cuda.empty_cache()
        return held

    def bucket_of(self, size: int) -> int:
        """Smallest captured size that holds `size`. Raises CaptureSizesError above the top."""
        sizes = sorted(self.graphs)
        at = bisect_left(sizes, size)
        if at == len(sizes):
            top = sizes[-1] if sizes else None
            raise CaptureSizesError(
                f"No capture size holds {size} requests; the largest is {top}. "
                f"Add {size}, or run the step eagerly."
            )
        return sizes[at]

    def replay(self, size: int) -> torch.Tensor:
        """Replay the graph of exactly this capture size; its output, to be cloned to be kept."""
        captured = self.graphs[size]
        captured.graph.replay()
        return captured.output

    def release(self) -> None:
        """Drop all graphs and their pools."""
        torch.cuda.synchronize(self._device)
        for captured in self.graphs.values():
            captured.graph.reset()
        self.graphs.clear()
        self._shared = None
        torch.cuda.empty_cache()

    def _pool(self) -> Pool:
        if self._policy is PoolPolicy.PRIVATE:
            return torch.cuda.graph_pool_handle()
        if self._shared is None:
            self._shared = torch.cuda.graph_pool_handle()
        return self._shared

    def _record(self, size: int, pool: Pool) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
        views = self._inputs.views(size)
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        try:
            with torch.cuda.graph(graph, pool=pool, stream=self._side):
                output = self._step(views)
        except Exception as error:
            raise CaptureError(first_cause(error)) from error
        return graph, output


def first_cause(error: BaseException) -> str:
    """Class and first line of the error that came first.

    Leaving a broken capture raises once more ("failed due to a previous error"); Python keeps
    the earlier one as context.
    """
    while error.__context__ is not None and error.__cause__ is None:
        error = error.__context__
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
