"""What a graph keeps (topology, parameters, addresses) and what it does not (Python values)."""

from __future__ import annotations

from dataclasses import dataclass

from core.lab.card import Card
from core.lab.derivation import Derivation, Step
from core.lab.graph import Graph
from core.lab.tensor import Tensor, tensor


@dataclass(frozen=True)
class KeptNode:
    """One recorded launch, as numbers."""

    index: int
    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    parameters: tuple[float, ...]


@dataclass(frozen=True)
class Round:
    """What was changed before a replay, and what eager and the replay then give."""

    change: str
    eager: float
    replay: float

    @property
    def equal(self) -> bool:
        return self.eager == self.replay


@dataclass(frozen=True)
class Kept:
    """A graph of y = x * scale + 1, and rounds that each change one thing.

    edges : (before, after) node indices
    """

    nodes: tuple[KeptNode, ...]
    edges: tuple[tuple[int, int], ...]
    input_address: int
    rounds: tuple[Round, ...]
    eager_launches: int
    replay_launches: int
    derivation: Derivation


def kept_nodes(graph: Graph) -> tuple[KeptNode, ...]:
    return tuple(
        KeptNode(
            index,
            node.name,
            tuple(place.address for place in node.reads),
            tuple(place.address for place in node.writes),
            node.parameters,
        )
        for index, node in enumerate(graph.nodes)
    )


def what_a_graph_keeps(
    first: float = 2.0, second: float = 5.0, scale: float = 3.0, new_scale: float = 10.0
) -> Kept:
    """Capture y = x * scale + 1 at x = first; then change the tensor's content, then the Python
    value `scale`, and compare each replay with an eager step."""
    card = Card()
    x = tensor(card, [first])
    now = {"scale": scale}

    def step(x: Tensor) -> Tensor:
        return x * now["scale"] + 1.0

    before = card.launches
    step(x)
    eager_launches = card.launches - before
    with card.capture() as graph:
        y = step(x)
    rounds = []

    def compare(change: str) -> None:
        graph.replay()
        rounds.append(Round(change, step(x).item(), y.item()))

    compare("nothing")
    x.fill_(second)
    compare(f"content of x: {first:g} to {second:g}")
    now["scale"] = new_scale
    compare(f"Python value scale: {scale:g} to {new_scale:g}")
    before = card.launches
    graph.replay()
    return Kept(
        kept_nodes(graph),
        tuple(graph.edges),
        x.address,
        tuple(rounds),
        eager_launches,
        card.launches - before,
        _derivation(graph, rounds, eager_launches),
    )


def _derivation(graph: Graph, rounds: list[Round], eager_launches: int) -> Derivation:
    differ = [r.change for r in rounds if not r.equal]
    steps = [
        Step("launches of an eager step", eager_launches, "launches"),
        Step("nodes that the capture recorded", len(graph.nodes), "nodes"),
    ]
    for r in rounds:
        steps.append(Step(f"changed {r.change}: eager gives", r.eager))
        steps.append(Step(f"changed {r.change}: the replay gives", r.replay))
    answer = "A graph keeps its nodes, their order, their parameters and their addresses. "
    if differ:
        answer += f"It does not follow {'; '.join(differ)}: that was copied in at capture."
    else:
        answer += "Here no Python value changed, so the replay agrees with eager."
    return Derivation(
        "what a graph keeps",
        "A tensor's content and a Python number both change. Which one does a replay see?",
        ("the step is y = x * scale + 1, one element", "scale is a Python number, x a tensor"),
        tuple(steps),
        answer,
    )
