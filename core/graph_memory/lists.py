"""Which graphs are captured: sizes of full and of piecewise ones, as an engine's plan has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.engines.plan import GraphList, Mode, Plan
from core.records import normalised_sizes


@dataclass(frozen=True)
class GraphLists:
    """Sizes captured as one graph a step, and as graphs between the attentions.

    full, piecewise : ascending, each size once [tokens of a step]; () where none is captured
    variants : graphs of each size (adapters, draft models)
    Raises CaptureSizesError for sizes that are no whole numbers of 1 or more.
    """

    full: tuple[int, ...] = ()
    piecewise: tuple[int, ...] = ()
    variants: int = 1

    def __post_init__(self) -> None:
        for name in ("full", "piecewise"):
            sizes = getattr(self, name)
            if len(sizes):
                object.__setattr__(self, name, normalised_sizes(sizes))

    def piecewise_objects(self, num_layers: int) -> int:
        """Graphs between the attentions: layers + 1 a size."""
        return self.variants * len(self.piecewise) * (num_layers + 1)

    def full_layers(self, num_layers: int) -> int:
        """Layers recorded in full graphs, all sizes together."""
        return self.variants * len(self.full) * num_layers

    def __bool__(self) -> bool:
        return bool(self.full or self.piecewise)


def lists_of_plan(plan: Plan) -> GraphLists:
    """What an engine captures, by kind; a list that decode and mixed steps share counts once."""
    graphs = (*plan.decode, *plan.prefill)
    variants = max((count.variants for count in plan.counts), default=1)
    return GraphLists(_of(graphs, Mode.FULL), _of(graphs, Mode.PIECEWISE), variants)


def _of(graphs: Iterable[GraphList], mode: Mode) -> tuple[int, ...]:
    return tuple(sorted({size for each in graphs if each.mode is mode for size in each.sizes}))
