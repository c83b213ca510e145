"""What a capture leaves: nodes with places and parameters, and the order between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.lab.storage import Place, Storage

if TYPE_CHECKING:
    from core.lab.card import Card


@dataclass(frozen=True)
class Node:
    """One launch: kernel(*written, *read, *parameters) on arrays at fixed places."""

    name: str
    kernel: Callable[..., object]
    writes: tuple[Place, ...]
    reads: tuple[Place, ...] = ()
    parameters: tuple[float, ...] = ()

    def run(self, storage: Storage) -> None:
        arrays = [storage[place] for place in (*self.writes, *self.reads)]
        self.kernel(*arrays, *self.parameters)


@dataclass
class Graph:
    """Nodes in the order of their recording, and edges (before, after) between their indices."""

    card: Card
    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)

    def replay(self) -> None:
        """Queue all nodes on the current stream with a single launch; no Python of the step runs,
        and nothing is read but what lies at the recorded places."""
        self.card.submit(self)

    def run(self, storage: Storage) -> None:
        for node in self.nodes:
            node.run(storage)
