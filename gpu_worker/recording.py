"""What one capture of a step leaves: a graph, or graphs with eager gaps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from gpu_worker import graph_nodes

Pool = Any  # torch's pool handle, a pair of numbers that it keeps private
Views = Mapping[str, torch.Tensor]
Step = Callable[[Views], torch.Tensor]
Carry = tuple[torch.Tensor, ...]
START: Carry = tuple()


@dataclass(frozen=True)
class Piece:
    """A part of a step: (inputs, what the part before left) -> what it leaves.

    captured : False for a part that must run eagerly on every step
    """

    run: Callable[[Views, Carry], Carry]
    captured: bool


@dataclass
class Recording:
    """Parts in order; replaying them is one step.

    output : where every replay leaves its result
    """

    graphs: list[torch.cuda.CUDAGraph] = field(default_factory=list)
    parts: list[Callable[[], object]] = field(default_factory=list)
    output: torch.Tensor | None = None

    def instantiate(self) -> None:
        """Make the graphs executable."""
        for graph in self.graphs:
            graph.instantiate()

    def replay(self) -> torch.Tensor:
        """One step. The result is overwritten by the next replay of the pool."""
        for part in self.parts:
            part()
        assert self.output is not None
        return self.output

    def reset(self) -> None:
        """Drop the graphs and what they hold in the pool."""
        self.output = None
        self.parts.clear()
        for graph in self.graphs:
            graph.reset()
        self.graphs.clear()

    def nodes(self) -> dict[str, int] | None:
        """Nodes of all graphs by kind; None where they cannot be counted."""
        total: Counter[str] = Counter()
        for graph in self.graphs:
            counted = graph_nodes.count(graph)
            if counted is None:
                return None
            total.update(counted)
        return dict(total)


class FullCapture:
    """The whole step as one graph."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def step(self, views: Views) -> torch.Tensor:
        """The step, without a graph."""
        return self._step(views)

    def record(self, views: Views, pool: Pool, stream: torch.cuda.Stream) -> Recording:
        """Record the step on these inputs; not yet instantiated."""
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph, pool=pool, stream=stream):
            output = self._step(views)
        return Recording([graph], [graph.replay], output)


class PiecewiseCapture:
    """Graphs around the parts that must run eagerly, as for an attention that cannot be captured.

    What passes from part to part lies in buffers that all sizes share: were it left in the pool,
    every size would need its own memory for all of its parts. It costs a copy a tensor and part.
    """

    def __init__(self, pieces: Sequence[Piece], max_size: int) -> None:
        self._pieces = list(pieces)
        self._max_size = max_size
        self._kept: dict[tuple[int, int], torch.Tensor] = {}

    def step(self, views: Views) -> torch.Tensor:
        """All parts in order, without any graph."""
        carry = START
        for piece in self._pieces:
            carry = piece.run(views, carry)
        return carry[0]

    def record(self, views: Views, pool: Pool, stream: torch.cuda.Stream) -> Recording:
        """Record each captured part; the gaps run once, so that buffers get their shapes."""
        recording = Recording()
        carry = START
        for index, piece in enumerate(self._pieces):
            last = index == len(self._pieces) - 1
            record = self._record_graph if piece.captured else self._record_gap
            carry = record(recording, piece, views, carry, pool, stream, last)
        recording.output = carry[0]
        return recording

    def _record_graph(
        self,
        recording: Recording,
        piece: Piece,
        views: Views,
        carry: Carry,
        pool: Pool,
        stream: torch.cuda.Stream,
        last: bool,
    ) -> Carry:
        # Buffers are made before the capture, so that they do not come from its pool.
        left = None if last else self._buffers_after(piece, views, carry)
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph, pool=pool, stream=stream):
            result = piece.run(views, carry)
            if left is not None:
                _fill(left, result)
        recording.graphs.append(graph)
        recording.parts.append(graph.replay)
        return result if left is None else left

    def _record_gap(
        self,
        recording: Recording,
        piece: Piece,
        views: Views,
        carry: Carry,
        pool: Pool,
        stream: torch.cuda.Stream,
        last: bool,
    ) -> Carry:
        left = self._buffers_after(piece, views, carry)
        recording.parts.append(lambda: _fill(left, piece.run(views, carry)))
        return left

    def _buffers_after(self, piece: Piece, views: Views, carry: Carry) -> Carry:
        """First rows of the shared buffers, one for each tensor that the part leaves."""
        result = piece.run(views, carry)
        kept = []
        for place, tensor in enumerate(result):
            passed_on = next((old for old in carry if old is tensor), None)
            kept.append(self._buffer(place, tensor) if passed_on is None else passed_on)
        return tuple(kept)

    def _buffer(self, place: int, like: torch.Tensor) -> torch.Tensor:
        width = like[0].numel()
        if (place, width) not in self._kept:
            self._kept[place, width] = like.new_empty((self._max_size, width))
        return self._kept[place, width][: len(like)].view(like.shape)


def _fill(kept: Carry, result: Carry) -> None:
    for target, source in zip(kept, result, strict=True):
        if target is not source:
            target.copy_(source)
