"""Padding, best sets, trade-offs and break-even."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from app.compute.engines import padding_by_engine
from app.compute.hashing import HASH
from app.deciding.best_choice import TIME, BestChoice
from app.inputs.engine_choice import EngineChoice
from core.break_even import CumulativeCurves, cumulative_curves
from core.bucket_break_even import BucketBreakEven, SetBreakEven
from core.bucket_break_even import bucket_break_even as weigh_buckets
from core.buckets import Frontier, Limits, frontier
from core.buckets.budget import budgeted_buckets
from core.choice.advice import change_sentence
from core.choice.check import check_choice
from core.choice.holdout import HeldOut, hold_out, split_trace
from core.choice.trade_off import TradeOff, lost_us_by_size, trade_off, trade_point, with_marks
from core.cost.mean_step import mean_step_us
from core.errors import CostUnitError, SettingError
from core.padding import PaddingReport, padding_report
from core.records import (
    BucketSet,
    FloatArray,
    GraphMemory,
    PoolPolicy,
    Profile,
    SizeUnit,
    StepCost,
    StepHistogram,
    Trace,
)
from core.step_cost import capture_ms_at
from core.verdicts import UPTIME_S

MAX_GRAPHS = 64
EAGER_UNKNOWN = (
    "These step times hold no eager step, so what a graph saves against none is not known. Fit "
    "them with eager steps (Calibrate page, a second run with enforce_eager), or choose a profile."
)
"""In place of any comparison with running without graphs."""


@dataclass(frozen=True)
class Replayed:
    """What the steps of some traffic replay with a bucket set.

    steps : the histogram, in the engine's unit where an engine's rule was followed
    """

    steps: StepHistogram
    report: PaddingReport


def replayed(
    histogram: StepHistogram, sizes: tuple[int, ...], engine: EngineChoice | None = None
) -> Replayed:
    """By the rule of the engine whose own list this is, else by rounding up. Raises InputError."""
    if engine is None:
        return Replayed(histogram, _padding(histogram, sizes))
    found = padding_by_engine(engine, histogram)
    return Replayed(found.steps, found.report)


@st.cache_data(max_entries=256, hash_funcs=HASH)
def _padding(histogram: StepHistogram, sizes: tuple[int, ...]) -> PaddingReport:
    return padding_report(histogram, sizes)


def best_frontier(
    histogram: StepHistogram, choice: BestChoice | None = None, cost: StepCost | None = None
) -> Frontier:
    """The exact optimum for every number of graphs up to MAX_GRAPHS. Raises ProjectError."""
    choice = choice or BestChoice()
    return _frontier(histogram, choice.limits, cost if choice.objective == TIME else None)


@st.cache_data(max_entries=64, show_spinner="Searching the best bucket sets …", hash_funcs=HASH)
def _frontier(histogram: StepHistogram, limits: Limits, cost: StepCost | None) -> Frontier:
    """Cached without the number of graphs: one frontier answers for all of them."""
    return frontier(
        histogram,
        max_graphs=MAX_GRAPHS,
        cost=cost,
        multiple_of=limits.multiple_of,
        include=limits.include,
        allow_eager=limits.allow_eager,
    )


@st.cache_data(max_entries=64, show_spinner="Weighing the sets …", hash_funcs=HASH)
def weighed(
    histogram: StepHistogram,
    sets: Sequence[BucketSet],
    choice: BestChoice,
    cost: StepCost,
    memory: GraphMemory,
    engines: Mapping[str, EngineChoice],
) -> TradeOff:
    """Step time, memory and start-up of the sets beside the best possible.

    engines : {name of a set: the engine whose own list it is}. Raises ProjectError.
    """
    best = _unmarked(histogram, choice.limits, choice.policy, cost, memory)
    rules = {name: padding_by_engine(item, histogram) for name, item in engines.items()}
    return with_marks(best, histogram, cost, memory, choice.policy, sets, rules)


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs=HASH)
def _unmarked(
    histogram: StepHistogram,
    limits: Limits,
    policy: PoolPolicy,
    cost: StepCost,
    memory: GraphMemory,
) -> TradeOff:
    """Cached without the sets: the frontier stays while the user's own list is edited."""
    found = _frontier(histogram, limits, cost)
    return trade_off(histogram, cost, memory, policy, found=found)


@st.cache_data(max_entries=256, show_spinner="Searching the best bucket set …", hash_funcs=HASH)
def best_set(
    histogram: StepHistogram, choice: BestChoice, cost: StepCost, memory: GraphMemory
) -> tuple[int, ...]:
    """The best sizes for a choice. Raises ProjectError."""
    if choice.memory_mib is None:
        return best_frontier(histogram, choice, cost).at(choice.num_graphs).sizes
    found = budgeted_buckets(
        histogram,
        memory,
        choice.policy,
        choice.memory_mib * 2**20,
        max_graphs=choice.num_graphs,
        cost=cost if choice.objective == TIME else None,
        limits=choice.limits,
    )
    return found.point.sizes


@st.cache_data(max_entries=32, hash_funcs=HASH)
def bucket_break_even(
    histogram: StepHistogram,
    sizes: tuple[int, ...],
    cost: StepCost,
    uptime_s: float = UPTIME_S,
    restore_ms: float | None = None,
    engine: EngineChoice | None = None,
) -> SetBreakEven:
    """By the rule of the engine whose own list this is, else by rounding up.

    Raises InputError; SettingError where no eager step is known, against which it is weighed.
    """
    if not cost.eager_known:
        raise SettingError(EAGER_UNKNOWN)
    weigh = partial(weigh_buckets, uptime_s=uptime_s, restore_ms=restore_ms)
    if engine is None:
        return weigh(histogram, sizes, cost)
    found = padding_by_engine(engine, histogram)
    return weigh(found.steps, found.report.capture_sizes, cost, look_up=found.look_up)


def step_us(found: Replayed, cost: StepCost) -> float | None:
    """Mean wall time of one step of this traffic with these graphs [us].

    None where the cost prices other steps than the histogram counts.
    """
    try:
        return mean_step_us(found.steps, found.report, cost)
    except CostUnitError:
        return None


def capture_ms(cost: StepCost, size: int) -> float:
    """To capture the graph of one size [ms]."""
    return float(capture_ms_at(cost, [size])[0])


def curves(item: BucketBreakEven) -> CumulativeCurves:
    """Cumulative time of a bucket or of the whole set."""
    return cumulative_curves(item.capture_us, item.eager_us, item.graph_us)


def halves(trace: Trace) -> tuple[Trace, Trace]:
    """The first and the second half of the requests. Raises SettingError."""
    return split_trace(trace)


@st.cache_data(max_entries=8, hash_funcs=HASH)
def held_out(
    first: StepHistogram, second: StepHistogram, num_graphs: int, cost: StepCost
) -> HeldOut:
    """The best list of the first part, scored on the second. Raises InputError."""
    return hold_out(first, second, [num_graphs], cost=cost)[0]


@st.cache_data(max_entries=8, show_spinner="Choosing again on unseen draws …", hash_funcs=HASH)
def rescored(histogram: StepHistogram, profile: Profile, choice: BestChoice) -> str:
    """What the promise of a measured choice is worth, in a sentence. Raises InputError.

    profile : of these steps: prefill chunks where a step is a prompt, which is one of its tokens
    """
    if histogram.unit is SizeUnit.LENGTH:
        histogram = replace(histogram, unit=SizeUnit.TOKENS)
    return check_choice(histogram, profile, max_graphs=choice.num_graphs).sentence()


def lost_us(found: Replayed, cost: StepCost) -> FloatArray:
    """Time lost by the steps of each size, a value a size [us]."""
    return lost_us_by_size(found.steps, found.report, cost)


def change(
    histogram: StepHistogram,
    before: BucketSet,
    after: BucketSet,
    cost: StepCost,
    memory: GraphMemory,
    policy: PoolPolicy,
) -> str:
    """What an edit of a set did, in one sentence. Raises InputError."""
    points = [trade_point(histogram, item, cost, memory, policy) for item in (before, after)]
    return change_sentence(points[0], points[1])
