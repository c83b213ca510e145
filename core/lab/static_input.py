"""The static input: warm up beside, capture once, fill and replay; what a and b then hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.lab.card import Card
from core.lab.derivation import Derivation, Step
from core.lab.orders import outcomes
from core.lab.tensor import Tensor, tensor


def square_plus_one(x: Tensor) -> Tensor:
    """y = x * x + 1: 3 gives 10, 4 gives 17."""
    return x * x + 1.0


@dataclass(frozen=True)
class TwoReplays:
    """After two replays: a is the graph's own output, b a clone made after the first."""

    first: float
    second: float
    alias: float
    clone: float
    output_address: int
    clone_address: int
    derivation: Derivation


def two_replays(first: float = 3.0, second: float = 4.0) -> TwoReplays:
    """Warm up on a side stream with both waits, capture, then fill_ and replay twice."""
    card = Card()
    x = tensor(card, [0.0])
    side = card.stream("side")
    side.wait_stream(card.current)
    with card.on(side):
        square_plus_one(x)
    card.current.wait_stream(side)
    with card.capture(side) as graph:
        a = square_plus_one(x)
    x.fill_(first)
    graph.replay()
    after_first = a.item()
    b = a.clone()
    x.fill_(second)
    graph.replay()
    alias, clone = a.item(), b.item()
    steps = (
        Step(f"fill_({first:g}), replay: y = x * x + 1", after_first),
        Step("b = a.clone(): other memory, holds", clone),
        Step(f"fill_({second:g}), replay: a reads the same memory again", alias),
    )
    return TwoReplays(
        first,
        second,
        alias,
        clone,
        a.address,
        b.address,
        Derivation(
            "static input",
            "Two replays: what do a and b hold?",
            ("the step is y = x * x + 1, one element", "a = output of the graph, b = a.clone()"),
            steps,
            f"a is the graph's output memory, which the second replay wrote: {alias:g}. "
            f"b was copied before that: {clone:g}.",
        ),
    )


@dataclass(frozen=True)
class WarmUp:
    """What a warm-up computes, over every order the streams allow: {value: orders}."""

    right: float
    outcomes: Mapping[float, int]

    @property
    def safe(self) -> bool:
        return set(self.outcomes) == {self.right}


def warm_up_outcomes(
    wait_before: bool = True, wait_after: bool = True, first: float = 3.0, second: float = 4.0
) -> WarmUp:
    """Fill x on the current stream, run the step on a side stream, fill x again.

    wait_before : the side stream waits for the fill; wait_after : the current stream waits for
    the side stream before it goes on
    """

    def program(card: Card) -> float:
        x = tensor(card, [0.0])
        x.fill_(first)
        side = card.stream("side")
        if wait_before:
            side.wait_stream(card.current)
        with card.on(side):
            y = square_plus_one(x)
        if wait_after:
            card.current.wait_stream(side)
        x.fill_(second)
        return y.item()

    right = Card()
    return WarmUp(square_plus_one(tensor(right, [first])).item(), outcomes(program))
