"""The rebound variable: the name moved, the pointer did not."""

from __future__ import annotations

from dataclasses import dataclass

from core.lab.card import Card
from core.lab.derivation import Derivation, Step
from core.lab.static_input import square_plus_one
from core.lab.tensor import tensor


@dataclass(frozen=True)
class Rebound:
    """x bound to a new tensor after capture, and x filled instead.

    read_rebound : what the replay's input held; rebound, mended : the replay's results
    """

    value: float
    graph_address: int
    name_address: int
    read_rebound: float
    rebound: float
    mended: float
    eager: float
    derivation: Derivation


def rebound_input(value: float = 3.0) -> Rebound:
    """Capture with x = 0; then `x = new tensor` and replay; then `copy_` and replay."""
    card = Card()
    x = static = tensor(card, [0.0])
    with card.capture() as graph:
        y = square_plus_one(x)
    x = tensor(card, [value])  # the name moves; the graph keeps the old address
    graph.replay()
    rebound, read = y.item(), static.item()
    eager = square_plus_one(x).item()
    static.copy_(x)
    graph.replay()
    mended = y.item()
    steps = (
        Step("address that the graph reads", f"{static.address:#x}"),
        Step("address of x after x = new tensor", f"{x.address:#x}"),
        Step("what the replay read", read),
        Step("replay after rebinding", rebound),
        Step("eager with the new x", eager),
        Step("replay after static.copy_(x)", mended),
    )
    derivation = Derivation(
        "rebound variable",
        f"After capture: x = tensor([{value:g}]). What does the replay read?",
        ("the step is y = x * x + 1, captured while x held 0",),
        steps,
        f"The replay still read {read:g} and gave {rebound:g}; after copy_ into the old tensor it "
        f"gave {mended:g}, as eager does.",
    )
    return Rebound(value, static.address, x.address, read, rebound, mended, eager, derivation)
