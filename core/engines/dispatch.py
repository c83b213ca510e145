"""What steps do under a plan: which graph, padded to what; one rank or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.data_parallel import RankRule
from core.engines.ladder import as_ranges
from core.engines.plan import GraphList, Mode, Plan, StepKind
from core.errors import CostUnitError, HistogramError, SettingError
from core.records import IntArray, SizeUnit, StepHistogram

EAGER = -1
"""The padded size of a step without a graph: it runs at its own size."""

ModeArray = NDArray[np.str_]


@dataclass(frozen=True)
class Dispatch:
    """What steps of given sizes do.

    sizes : (n,) [unit]; padded : (n,) slots the step runs with, -1 without padding [unit]
    modes : (n,) values of Mode
    """

    sizes: IntArray
    padded: IntArray
    modes: ModeArray
    unit: SizeUnit

    @property
    def on_graph(self) -> NDArray[np.bool_]:
        """(n,) whether a captured graph replays."""
        return (self.modes == Mode.FULL.value) | (self.modes == Mode.PIECEWISE.value)


def dispatch(
    plan: Plan,
    sizes: Sequence[int] | IntArray,
    kind: StepKind = StepKind.DECODE,
    fallback: Callable[[int], int] | None = None,
) -> Dispatch:
    """Look up each size in the plan's graphs, the preferred ones first.

    sizes : (n,), each 1 or more, in the plan's unit of `kind`
    fallback : the size a step is compiled for while serving, for plans whose `above` is RECOMPILE
    Raises HistogramError for a size below 1.
    """
    asked = np.asarray(sizes, np.int64)
    if len(asked) and asked.min() < 1:
        raise HistogramError(f"A step size is {asked.min()}; sizes are 1 or more.")
    padded = np.full(len(asked), EAGER, np.int64)
    modes = np.full(len(asked), Mode.EAGER.value, dtype="<U9")
    if kind is StepKind.DECODE:
        modes[:] = plan.above.value
        if plan.eager_above is not None:
            modes[asked > plan.eager_above] = Mode.EAGER.value
    for graphs in plan.lists(kind):
        found = _look_up(graphs, asked)
        take = (padded == EAGER) & (found != EAGER)
        padded[take], modes[take] = found[take], graphs.mode.value
    if fallback is not None:
        for i in np.flatnonzero(modes == Mode.RECOMPILE.value):
            padded[i] = fallback(int(asked[i]))
    unit = plan.unit if kind is StepKind.DECODE else plan.prefill_unit
    return Dispatch(asked, padded, modes, unit)


def _look_up(graphs: GraphList, sizes: IntArray) -> IntArray:
    """(n,) the captured size that replays each step, -1 for none."""
    captured = np.asarray(graphs.among or graphs.sizes, np.int64)
    result = np.full(len(sizes), EAGER, np.int64)
    place = np.searchsorted(captured, sizes)
    fits = place < len(captured)
    result[fits] = captured[place[fits]]
    if graphs.among:
        result[~np.isin(result, graphs.sizes)] = EAGER
    if graphs.exact:
        result[result != sizes] = EAGER
    if graphs.max_ratio is not None:
        result[result > graphs.max_ratio * sizes] = EAGER
    return result


def in_plan_unit(plan: Plan, histogram: StepHistogram) -> tuple[StepHistogram, StepKind]:
    """A histogram in the unit that the plan looks steps up in, and the kind of steps it holds.

    Requests become slots by tokens_per_request. Tokens are decode slots where decode graphs count
    tokens (a step wider than any decode step can be finds the graphs of mixed steps), else prefill
    tokens. Raises CostUnitError where the engine has no graphs for such steps.
    """
    if histogram.unit is SizeUnit.REQUESTS:
        sizes = histogram.sizes * plan.tokens_per_request
        in_slots = replace(
            histogram, sizes=sizes, unit=plan.unit, decode_only=plan.unit is SizeUnit.TOKENS
        )
        return in_slots, StepKind.DECODE
    if histogram.unit is plan.unit:
        return histogram, StepKind.DECODE
    if plan.prefill:
        return replace(histogram, unit=plan.prefill_unit), StepKind.PREFILL
    raise CostUnitError(
        f"The histogram counts {histogram.unit} but this engine captures decode graphs by "
        f"{plan.unit} and none for prefill; load a histogram of decode batches."
    )


@dataclass(frozen=True)
class RankDispatch:
    """One step of several ranks.

    bucket : slots every rank runs; None when every rank runs eager with its own size
    processed, useful : slots run and needed, all ranks together
    """

    bucket: int | None
    mode: Mode
    processed: int
    useful: int

    @property
    def waste(self) -> float:
        """Padded slots over processed slots, 0..1."""
        return (self.processed - self.useful) / self.processed if self.processed else 0.0


def dispatch_ranks(
    plan: Plan,
    ranks: Sequence[int],
    rule: RankRule = RankRule.MAX,
    kind: StepKind = StepKind.DECODE,
) -> RankDispatch:
    """What data-parallel ranks do together in one step; an idle rank runs a dummy batch.

    Where only exact sizes replay, ranks with different sizes all run eager; so they do when no
    graph holds what `rule` asks for.
    ranks : size on each rank, 0 for an idle one, in the plan's unit
    Raises SettingError without ranks or for a size below 0.
    """
    if not ranks or min(ranks) < 0:
        raise SettingError(f"Sizes of ranks are {list(ranks)}; give one of 0 or more a rank.")
    useful, common = sum(ranks), sum(ranks) if rule is RankRule.SUM else max(ranks)
    exact = any(graphs.exact for graphs in plan.lists(kind))
    unequal = exact and min(ranks) != max(ranks)
    if common == 0 or unequal:
        return RankDispatch(None, Mode.EAGER, useful, useful)
    step = dispatch(plan, [common], kind)
    mode, bucket = Mode(step.modes[0]), int(step.padded[0])
    if bucket == EAGER:
        return RankDispatch(None, mode, useful, useful)
    return RankDispatch(bucket, mode, bucket * len(ranks), useful)


def uncovered(plan: Plan, largest: int) -> tuple[tuple[int, int], ...]:
    """Runs (first, last) of decode sizes from 1 to `largest` that replay no graph.

    Only sizes that a full decode step can have count: multiples of tokens_per_request.
    """
    width = plan.tokens_per_request
    sizes = np.arange(width, largest + 1, width, dtype=np.int64)
    missing = sizes[~dispatch(plan, sizes).on_graph]
    if len(missing) == 0:
        return ()
    breaks = np.flatnonzero(np.diff(missing) > width)
    firsts = missing[np.r_[0, breaks + 1]]
    lasts = missing[np.r_[breaks, len(missing) - 1]]
    return tuple((int(a), int(b)) for a, b in zip(firsts, lasts, strict=True))


def spelled_runs(runs: Sequence[tuple[int, int]], width: int = 1) -> str:
    """Runs of multiples of width for people: "9 to 12, 25"; many become their count and ends."""
    if len(runs) > 4:
        singles = [n for a, b in runs for n in range(a, b + 1, width)]
        return f"{as_ranges(singles[:3])}, ... {singles[-1]} ({len(singles)} sizes)"
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)
