"""What one capture of a step leaves: a graph, or graphs with eager gaps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
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
    """The whole step as one graph.

    Its last node copies the result into a buffer that all sizes share. Left in the pool, each
    size's result would have to stay there for good, and the pool would grow with every size.
    """

    def __init__(self, step: Step, max_size: int) -> None:
        self._step = step
        self._max_size = max_size
        self._output: torch.Tensor | None = None

    def step(self, views: Views) -> torch.Tensor:
        """The step, without a graph."""
        return self._step(views)

    def record(self, views: Views, pool: Pool, stream: torch.cuda.Stream) -> Recording:
        """Record the step on these inputs; not yet instantiated."""
        if self._output is None:
            like = self._step(views)
            self._output = like.new_empty((self._max_size, *like.shape[1:]))
        output = self._output[: len(next(iter(views.values())))]
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph, pool=pool, stream=stream):
            output.copy_(self._step(views))
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
        for piece in self._pieces:
            # Buffers are made before the capture, so that they do not come from its pool.
            left = self._buffers_after(piece, views, carry)
            part = partial(_run_into, left, piece, views, carry)
            if piece.captured:
                graph = torch.cuda.CUDAGraph(keep_graph=True)
                with torch.cuda.graph(graph, pool=pool, stream=stream):
                    part()
                recording.graphs.append(graph)
                part = graph.replay
            recording.parts.append(part)
            carry = left
        recording.output = carry[0]
        return recording

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


def _run_into(left: Carry, piece: Piece, views: Views, carry: Carry) -> None:
    for target, source in zip(left, piece.run(views, carry), strict=True):
        if target is not source:
            target.copy_(source)
