"""What an engine makes of a list: the graphs of decode steps and of steps with prefill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.engines import get_engine
from core.engines.dispatch import EAGER, dispatch
from core.engines.plan import Mode, StepKind
from core.engines.protocol import Engine
from core.graph_memory import GraphLists, lists_of_plan
from core.padding import bucket_of
from core.records import IntArray, SizeUnit, normalised_sizes

ROUNDING_UP = "rounding up"


@dataclass(frozen=True)
class EngineChoice:
    """The engine whose rules a study follows; engine None: every size rounds up, all steps alike.

    settings : as the engine's flags name them, without its list
    today : the list that runs now; None: the one that the settings lead to; (): no graph
    off : settings that run now and keep the engine from capturing, left out of `settings`
    """

    engine: str | None = None
    version: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    today: tuple[int, ...] | None = None
    off: tuple[str, ...] = ()

    @property
    def rules(self) -> Engine | None:
        """Raises SettingError for an unknown engine."""
        return None if self.engine is None else get_engine(self.engine)


@dataclass(frozen=True)
class Graphs:
    """The graphs of one list, as the engine captures and dispatches them.

    sizes : the list as the engine ends up holding it, ascending [unit]; empty: no graph
    bucket : (max_num_seqs + 1,) what a decode step of so many requests replays [unit]; -1 eager
    slots : (max_num_seqs + 1,) its unpadded size [unit]
    mixed : sizes that steps with prefill replay [tokens]; empty: they have no graph
    counts : {kind of graph: how many are captured}; lists : their sizes by kind
    notes : what the engine does to the list, in words
    """

    sizes: tuple[int, ...]
    unit: SizeUnit
    bucket: IntArray
    slots: IntArray
    mixed: tuple[int, ...]
    counts: Mapping[str, int]
    lists: GraphLists = field(default_factory=GraphLists)
    notes: tuple[str, ...] = ()

    @property
    def num_graphs(self) -> int:
        return sum(self.counts.values())

    @property
    def largest_batch(self) -> int:
        """The most requests that decode on a graph; 0 where none does."""
        on = np.flatnonzero(self.bucket[1:] != EAGER)
        return int(on[-1]) + 1 if len(on) else 0


def graphs_of(choice: EngineChoice, sizes: Sequence[int] | None, max_num_seqs: int) -> Graphs:
    """What the engine makes of a list; None takes the one that runs today.

    sizes : () captures nothing
    Raises SettingError, CaptureSizesError.
    """
    wanted = choice.today if sizes is None else tuple(sizes)
    if wanted == ():
        return _nothing(max_num_seqs)
    engine = choice.rules
    if engine is None:
        return _rounding_up(wanted or (), max_num_seqs)
    plan = engine.plan(choice.version, choice.settings, wanted)
    batches = np.arange(1, max_num_seqs + 1, dtype=np.int64)
    slots = batches * plan.tokens_per_request
    found = dispatch(plan, slots, StepKind.DECODE, engine.run_time_size)
    bucket = np.where(found.on_graph, found.padded, EAGER)
    captured = sorted({n for graphs in plan.decode for n in graphs.sizes})
    mixed = tuple(sorted({n for g in plan.prefill if _is_graph(g.mode) for n in g.sizes}))
    return Graphs(
        tuple(captured) if captured else plan.sizes,
        plan.unit,
        np.concatenate([np.full(1, EAGER, np.int64), bucket]),
        np.concatenate([np.zeros(1, np.int64), slots]),
        mixed,
        {count.what: count.graphs for count in plan.counts},
        lists_of_plan(plan),
        plan.notes,
    )


def _is_graph(mode: Mode) -> bool:
    return mode in (Mode.FULL, Mode.PIECEWISE)


def _nothing(max_num_seqs: int) -> Graphs:
    slots = np.arange(max_num_seqs + 1, dtype=np.int64)
    return Graphs((), SizeUnit.REQUESTS, np.full(max_num_seqs + 1, EAGER, np.int64), slots, (), {})


def _rounding_up(sizes: Sequence[int], max_num_seqs: int) -> Graphs:
    """A list without an engine: decode steps and steps with prefill round up alike."""
    captured = normalised_sizes(sizes)
    slots = np.arange(max_num_seqs + 1, dtype=np.int64)
    counts = {ROUNDING_UP: len(captured)}
    bucket = bucket_of(slots, captured)
    bucket[0] = EAGER
    lists = GraphLists(full=captured)
    return Graphs(captured, SizeUnit.REQUESTS, bucket, slots, captured, counts, lists)
