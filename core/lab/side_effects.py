"""Python in a captured step runs at capture and never again: counters, prints, lists, branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import SettingError
from core.lab.card import Card
from core.lab.derivation import Derivation, Step
from core.lab.tensor import Tensor, tensor


@dataclass(frozen=True)
class SideEffects:
    """What Python saw of warm-ups, one capture and the replays.

    expected : calls that someone would count who takes a replay for a call
    device_counter : a counter kept in a tensor, which a replay does add to
    """

    counter: int
    expected: int
    printed: tuple[str, ...]
    appended: int
    device_counter: float
    derivation: Derivation


def side_effects(warmups: int = 2, replays: int = 50) -> SideEffects:
    """A step that counts, prints and appends. Raises SettingError."""
    if warmups < 0 or replays < 0:
        raise SettingError(f"{warmups} warm-ups and {replays} replays; give 0 or more.")
    card = Card()
    x, total = tensor(card, [1.0]), tensor(card, [0.0])
    seen: list[Tensor] = []
    printed: list[str] = []
    counter = 0

    def step() -> None:
        nonlocal counter
        counter += 1
        printed.append(f"step {counter}")
        seen.append(x)
        total.copy_(total + x)

    for _ in range(warmups):
        step()
    with card.capture() as graph:
        step()
    for _ in range(replays):
        graph.replay()
    on_device = total.item()
    steps = (
        Step("warm-ups + 1 capture run the Python code", counter, "calls"),
        Step("replays run only what was recorded", replays, "replays"),
        Step("counter += 1 in Python", counter),
        Step("lines printed", len(printed), "lines"),
        Step("items appended to a list", len(seen), "items"),
        Step("a counter in a tensor: warm-ups + replays (a capture runs no kernel)", on_device),
    )
    derivation = Derivation(
        "Python side effects",
        f"{warmups} warm-ups, one capture, {replays} replays: what does a Python counter say?",
        ("the step adds 1 to a Python counter, prints a line, appends to a list",),
        steps,
        f"The counter says {counter}, not {warmups + 1 + replays}: a replay runs no Python.",
    )
    return SideEffects(
        counter,
        warmups + 1 + replays,
        tuple(printed),
        len(seen),
        on_device,
        derivation,
    )


@dataclass(frozen=True)
class BranchRound:
    """One step with a Python flag: eager, one graph, and one graph per branch."""

    flag: bool
    eager: float
    frozen: float
    per_branch: float


@dataclass(frozen=True)
class Branches:
    """A branch taken in Python while capturing."""

    captured_flag: bool
    rounds: tuple[BranchRound, ...]
    derivation: Derivation


def frozen_branch(
    flags: Sequence[bool] = (True, False, True, False),
    captured_flag: bool = True,
    value: float = 5.0,
) -> Branches:
    """`if flag: y = 2x else: y = -x`, captured once, and captured once for each branch."""
    card = Card()
    x = tensor(card, [value])

    def step(flag: bool) -> Tensor:
        return x * 2.0 if flag else x * -1.0

    graphs = {}
    for flag in (True, False):
        with card.capture() as graph:
            output = step(flag)
        graphs[flag] = (graph, output)
    rounds = []
    for flag in flags:
        graph, output = graphs[captured_flag]
        graph.replay()
        frozen = output.item()
        graph, output = graphs[flag]  # chosen in Python, before the replay
        graph.replay()
        rounds.append(BranchRound(flag, step(flag).item(), frozen, output.item()))
    wrong = sum(r.frozen != r.eager for r in rounds)
    wrong_per_branch = sum(r.per_branch != r.eager for r in rounds)
    steps = (
        Step("rounds", len(rounds), "rounds"),
        Step(f"one graph, captured with flag = {captured_flag}: wrong in", wrong, "rounds"),
        Step("a graph per branch, chosen before replay: wrong in", wrong_per_branch, "rounds"),
    )
    derivation = Derivation(
        "frozen branch",
        "The flag changes from round to round. Which branch does the replay take?",
        (f"if flag: y = 2 * x, else y = -x; x = {value:g}", "flag is a Python value"),
        steps,
        f"The branch of the capture, always: wrong in {wrong} of {len(rounds)} rounds. With one "
        f"graph per branch: wrong in {wrong_per_branch}.",
    )
    return Branches(captured_flag, tuple(rounds), derivation)
