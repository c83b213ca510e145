"""The state of one capture: which streams take part, what was recorded, and whether it broke."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from core.lab.graph import Graph, Node

if TYPE_CHECKING:
    from core.lab.card import Stream

MESSAGES = {
    900: "operation not permitted when stream is capturing",
    901: "operation failed due to a previous error during capture",
    904: "capturing stream has unjoined work",
    905: "dependency created on uncaptured work in another stream",
}
"""CUDA's codes and the words by which its messages are known."""

Tails = frozenset[int]
"""Indices of the last nodes that later work must follow."""


class CudaError(RuntimeError):
    """An error with CUDA's code and message, raised by the emulated card."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error: {MESSAGES[code]}")
        self.code = code


class Recorder:
    """Nodes and edges as they come; each stream of the capture has its tails."""

    def __init__(self, origin: Stream, graph: Graph) -> None:
        self._origin = origin
        self._graph = graph
        self._tails: dict[Stream, Tails] = {origin: frozenset()}
        self._broken = False

    def holds(self, stream: Stream) -> bool:
        return stream in self._tails

    def tails_of(self, stream: Stream) -> Tails:
        return self._tails[stream]

    def add(self, stream: Stream, node: Node) -> None:
        if self._broken:
            self.fail(901)
        index = len(self._graph.nodes)
        self._graph.nodes.append(node)
        self._graph.edges += [(before, index) for before in sorted(self._tails[stream])]
        self._tails[stream] = frozenset({index})

    def join(self, stream: Stream, tails: Tails) -> None:
        """Later work of the stream follows these nodes too."""
        self._tails[stream] = self._tails.get(stream, frozenset()) | tails

    def fail(self, code: int) -> NoReturn:
        """The capture is broken from now on."""
        self._broken = True
        raise CudaError(code)

    def end(self) -> None:
        """Raises CudaError if the capture broke, or a forked stream was not joined."""
        if self._broken:
            raise CudaError(901)
        reached = self._before(self._tails[self._origin])
        if not all(tails <= reached for tails in self._tails.values()):
            raise CudaError(904)

    def _before(self, tails: Tails) -> set[int]:
        """The nodes themselves and all that they follow."""
        reached: set[int] = set()
        open_nodes = list(tails)
        while open_nodes:
            node = open_nodes.pop()
            if node not in reached:
                reached.add(node)
                open_nodes += [a for a, b in self._graph.edges if b == node]
        return reached
