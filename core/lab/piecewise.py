"""Piecewise graphs: stable segments captured, scheduling between them; every piece is a launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import SettingError
from core.lab.card import Card
from core.lab.derivation import Derivation, Step
from core.lab.graph import Graph
from core.lab.tensor import Tensor, empty, tensor
from core.speed import PiecewiseOverhead, piecewise_overhead


@dataclass(frozen=True)
class PieceRound:
    """One step: the scheduler's choice, and what each way gives."""

    choice: float
    eager: float
    full: float
    piecewise: float


@dataclass(frozen=True)
class Piecewise:
    """A step of segments with a decision of the scheduler between them.

    *_launches : submissions by the host for one step
    """

    pieces: int
    rounds: tuple[PieceRound, ...]
    eager_launches: int
    full_launches: int
    piecewise_launches: int
    overhead: PiecewiseOverhead
    derivation: Derivation


class _Step:
    """Each segment adds 1, `kernels` times; between segments the scheduler's choice is added."""

    def __init__(self, segments: int, kernels: int) -> None:
        self.segments, self.kernels = segments, kernels
        self.choice = 0.0

    def segment(self, x: Tensor) -> Tensor:
        for _ in range(self.kernels):
            x = x + 1.0
        return x

    def gap(self, x: Tensor) -> Tensor:
        return x + self.choice  # a Python value: frozen if it is captured

    def run(self, x: Tensor) -> Tensor:
        for index in range(self.segments):
            x = self.segment(x)
            if index + 1 < self.segments:
                x = self.gap(x)
        return x


class _Pieces:
    """A graph for each segment; each reads a static buffer that the gap before it fills."""

    def __init__(self, card: Card, step: _Step, x: Tensor) -> None:
        self.step = step
        self.parts: list[tuple[Graph, Tensor, Tensor]] = []
        source = x
        for _ in range(step.segments):
            with card.capture() as graph:
                output = step.segment(source)
            self.parts.append((graph, source, output))
            source = empty(card, (1,))

    def replay(self) -> Tensor:
        output = None
        for graph, source, result in self.parts:
            if output is not None:
                source.copy_(self.step.gap(output))
            graph.replay()
            output = result
        assert output is not None
        return output


def piecewise(
    segments: int = 3,
    kernels: int = 4,
    choices: Sequence[float] = (0.0, 5.0, 20.0),
    us_per_piece: float = 12.0,
    step_ms: float = 20.0,
) -> Piecewise:
    """Run the step eagerly, from one full graph, and from a graph a segment.

    Raises SettingError.
    """
    if segments < 1 or kernels < 1:
        raise SettingError(f"{segments} segments of {kernels} kernels; give 1 or more of each.")
    card = Card()
    x = tensor(card, [1.0])
    step = _Step(segments, kernels)
    step.choice = choices[0]
    with card.capture() as full:
        full_output = step.run(x)
    pieces = _Pieces(card, step, x)
    rounds, launches = [], {}
    for choice in choices:
        step.choice = choice
        results = {}
        for name, action in (
            ("eager", lambda: step.run(x)),
            ("full", lambda: (full.replay(), full_output)[1]),
            ("piecewise", pieces.replay),
        ):
            before = card.launches
            output = action()
            launches[name] = card.launches - before
            results[name] = output.item()
        rounds.append(PieceRound(choice, **results))
    overhead = piecewise_overhead(segments, us_per_piece, step_ms)
    return Piecewise(
        segments,
        tuple(rounds),
        launches["eager"],
        launches["full"],
        launches["piecewise"],
        overhead,
        _derivation(segments, rounds, launches, overhead, us_per_piece, step_ms),
    )


def _derivation(
    segments: int,
    rounds: Sequence[PieceRound],
    launches: dict[str, int],
    overhead: PiecewiseOverhead,
    us_per_piece: float,
    step_ms: float,
) -> Derivation:
    wrong_full = sum(r.full != r.eager for r in rounds)
    wrong_pieces = sum(r.piecewise != r.eager for r in rounds)
    steps = (
        Step("launches of an eager step", launches["eager"], "launches"),
        Step("launches of a full graph", launches["full"], "launches"),
        Step("launches of pieces and gaps", launches["piecewise"], "launches"),
        Step("steps in which the full graph is wrong", wrong_full, "steps"),
        Step("steps in which the pieces are wrong", wrong_pieces, "steps"),
        Step("boundaries: pieces x time a piece", overhead.extra_ms, "ms a step"),
        Step("share of the step", 100 * overhead.share, "%"),
    )
    return Derivation(
        "piecewise graphs",
        "Part of the step decides in Python. What does it cost to leave that part out?",
        (
            f"{segments} segments are captured, the decision between them runs eagerly",
            f"a boundary costs {us_per_piece:g} µs, the step takes {step_ms:g} ms: both assumed",
        ),
        steps,
        f"The full graph froze the decision and is wrong in {wrong_full} of {len(rounds)} steps; "
        f"the pieces follow it, for {launches['piecewise']} launches instead of "
        f"{launches['full']}.",
    )


@dataclass(frozen=True)
class StreamBudget:
    """Device streams that piecewise graphs take where each piece holds its own (Ascend).

    max_sizes : most capture sizes that fit; even_gap : between them, spread evenly from 1
    """

    needed: int
    fits: bool
    max_sizes: int
    even_gap: float | None


def stream_budget(
    num_layers: int, num_sizes: int, factor: int = 1, budget: int = 1920, largest: int = 512
) -> StreamBudget:
    """streams = layers x sizes x factor. Raises SettingError."""
    if min(num_layers, factor, budget) < 1 or num_sizes < 0:
        raise SettingError("Layers, factor and budget are 1 or more, sizes 0 or more.")
    needed = num_layers * num_sizes * factor
    most = budget // num_layers // factor
    gap = (largest - 1) / (most - 1) if most > 1 else None
    return StreamBudget(needed, needed <= budget, most, gap)
