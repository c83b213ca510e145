"""Cached calls into core; st.cache_data lives here alone.

Records are hashed by their content, so a cached answer is never that of another input.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from enum import Enum
from math import ceil
from typing import Any, BinaryIO

import numpy as np
import streamlit as st

from app.best_choice import TIME, BestChoice
from app.charts.memory import CapacityMark
from app.cost_choice import CostChoice
from app.engine_choice import EngineChoice
from app.memory_choice import MemoryChoice
from core import break_even as break_even_core
from core import memory as memory_core
from core.buckets import Frontier, frontier
from core.buckets.budget import budgeted_buckets
from core.cards import card_named
from core.engines import ENGINES
from core.engines.check import CheckReport, check
from core.engines.export import Export, export
from core.engines.memory import MemoryAccount, graph_cost
from core.engines.padding import engine_padding
from core.engines.plan import StepKind
from core.errors import CostUnitError, ModelConfigError
from core.example_reading import example_reading as make_example
from core.example_trace import poisson_arrivals
from core.padding import PaddingReport, padding_report
from core.profiles import shipped_profiles
from core.readers import ReadOptions, read
from core.readers.common.lengths import weighted_percentiles
from core.readers.reading import Reading
from core.records import (
    BucketSet,
    GraphMemory,
    LengthHistogram,
    PoolPolicy,
    Profile,
    SizeUnit,
    StepCost,
    StepHistogram,
    Trace,
)
from core.roofline import roofline_step_cost
from core.simulate import Machine, SimulationResult, simulate
from core.step_cost import (
    assumed_graph_memory,
    assumed_step_cost,
    cost_from_profile,
    memory_from_profile,
)
from core.trace_changes import scaled_arrivals
from core.trade_off import TradeOff, trade_off

MAX_GRAPHS = 64


def _update(digest: Any, value: Any) -> None:
    digest.update(type(value).__name__.encode())
    if isinstance(value, np.ndarray):
        digest.update(str(value.dtype).encode() + np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            digest.update(item.name.encode())
            _update(digest, getattr(value, item.name))
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            _update(digest, key)
            _update(digest, value[key])
    elif isinstance(value, (list, tuple)):
        digest.update(str(len(value)).encode())
        for item in value:
            _update(digest, item)
    elif isinstance(value, Enum):
        digest.update(str(value.value).encode())
    else:
        digest.update(repr(value).encode())


def content_digest(value: Any) -> str:
    """A name for the content of a record, an array, bytes or plain values."""
    digest = hashlib.sha256()
    _update(digest, value)
    return digest.hexdigest()


_HASH: dict[str | type, Any] = {
    cls: content_digest
    for cls in (
        BestChoice,
        BucketSet,
        CostChoice,
        EngineChoice,
        Frontier,
        GraphMemory,
        Machine,
        MemoryChoice,
        Profile,
        ReadOptions,
        StepCost,
        StepHistogram,
        Trace,
    )
}


def reading(file: BinaryIO, name: str, options: ReadOptions) -> Reading:
    """Not cached: the page keeps the result, and hashing a large upload costs a read of it.

    Raises InputError.
    """
    return read(file, name=name, options=options)


@st.cache_data(max_entries=1, show_spinner="Making the example trace …")
def example_reading() -> Reading:
    return make_example()


def length_marks(histogram: LengthHistogram) -> dict[str, float]:
    """Labelled percentiles for a length chart."""
    values = weighted_percentiles(histogram, (50.0, 90.0, 99.0))
    return dict(zip(("p50", "p90", "p99"), values.tolist(), strict=True))


@st.cache_data(max_entries=8, show_spinner="Simulating the engine …", hash_funcs=_HASH)
def simulation(
    trace: Trace, machine: Machine, cost: StepCost, sizes: tuple[int, ...] | None
) -> SimulationResult:
    """Raises SettingError."""
    return simulate(trace, machine, cost, sizes)


def served(
    trace: Trace,
    machine: Machine,
    cost: StepCost,
    sizes: tuple[int, ...] | None,
    progress: Callable[[float], None],
) -> SimulationResult:
    """Not cached: it reports progress while it runs. Raises SettingError."""
    return simulate(trace, machine, cost, sizes, progress=progress)


def tokens_in(num_bytes: float, bytes_per_token: float) -> int:
    """KV tokens that so many bytes could hold, rounded up."""
    return ceil(num_bytes / bytes_per_token)


def scaled(trace: Trace, load_factor: float) -> Trace:
    """The same requests arriving `load_factor` times as fast."""
    return scaled_arrivals(trace, load_factor)


@st.cache_data(max_entries=8, hash_funcs=_HASH)
def with_arrivals(trace: Trace, rate_rps: float, seed: int = 0) -> Trace:
    """The same lengths, arriving at random at a given rate."""
    return poisson_arrivals(trace, rate_rps=rate_rps, seed=seed)


@st.cache_data(max_entries=64, hash_funcs=_HASH)
def padding(histogram: StepHistogram, sizes: tuple[int, ...]) -> PaddingReport:
    return padding_report(histogram, sizes)


@st.cache_data(max_entries=16, show_spinner="Searching the best bucket sets …", hash_funcs=_HASH)
def best_frontier(
    histogram: StepHistogram, choice: BestChoice | None = None, cost: StepCost | None = None
) -> Frontier:
    """The exact optimum for every number of graphs up to MAX_GRAPHS. Raises ProjectError."""
    choice = choice or BestChoice()
    return frontier(
        histogram,
        max_graphs=MAX_GRAPHS,
        cost=cost if choice.objective == TIME else None,
        multiple_of=choice.multiple_of,
        include=choice.include,
        allow_eager=choice.allow_eager,
    )


@st.cache_data(max_entries=16, show_spinner="Weighing the sets …", hash_funcs=_HASH)
def weighed(
    histogram: StepHistogram,
    sets: Sequence[BucketSet],
    choice: BestChoice,
    cost: StepCost,
    memory: GraphMemory,
) -> TradeOff:
    """Step time, memory and start-up of the sets beside the best possible. Raises ProjectError."""
    return trade_off(
        histogram,
        cost,
        memory,
        choice.policy,
        sets=sets,
        max_graphs=MAX_GRAPHS,
        limits=choice.limits,
    )


@st.cache_data(max_entries=32, show_spinner="Searching the best bucket set …", hash_funcs=_HASH)
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


@dataclass(frozen=True)
class EngineDefault:
    """An engine's own list, with what to say beside it."""

    sizes: tuple[int, ...]
    unit: SizeUnit
    note: str


@st.cache_data(max_entries=64)
def engine_default(
    engine: str, version: str | None, settings: Mapping[str, Any], unit: SizeUnit
) -> EngineDefault:
    """Decode graphs for batches, prefill graphs for tokens and lengths. Raises SettingError."""
    kind = StepKind.DECODE if unit is SizeUnit.REQUESTS else StepKind.PREFILL
    found = ENGINES[engine].default_sizes(version, settings, kind)
    note = " ".join((f"Rule: {found.source}.", *found.notes))
    return EngineDefault(found.sizes, found.unit, note)


@st.cache_data(max_entries=16, show_spinner="Checking the configuration …", hash_funcs=_HASH)
def checked(choice: EngineChoice, histogram: StepHistogram | None) -> CheckReport:
    """What the engine would do with this configuration. Raises InputError."""
    engine = ENGINES[choice.engine]
    return check(engine, choice.version, choice.settings, choice.text, histogram)


@st.cache_data(max_entries=32, hash_funcs=_HASH)
def padding_by_engine(choice: EngineChoice, histogram: StepHistogram) -> PaddingReport:
    """Padding as this engine's own dispatch rule gives it. Raises InputError."""
    report = checked(choice, None)
    engine = ENGINES[choice.engine]
    return engine_padding(engine, histogram, None, report.version, report.settings).report


def engine_memory(
    choice: EngineChoice, sizes: tuple[int, ...], memory: GraphMemory
) -> MemoryAccount:
    """What the engine holds back for these graphs before it sizes the KV cache.

    Raises InputError.
    """
    engine = ENGINES[choice.engine]
    version = choice.version
    plan = engine.plan(version, choice.settings, sizes)
    # What the first capture takes once falls to one kind of graph, not to each.
    later = replace(memory, fixed_bytes=0.0)
    costs = {
        count.what: graph_cost(memory if i == 0 else later, sizes)
        for i, count in enumerate(plan.counts)
    }
    return engine.memory(version, choice.settings, sizes, costs)


def exported(
    engine: str, version: str | None, sizes: tuple[int, ...], settings: Mapping[str, Any]
) -> Export:
    """The sizes as that engine's own setting. Raises InputError."""
    return export(ENGINES[engine], sizes, version, settings)


@st.cache_data(max_entries=32, hash_funcs=_HASH)
def bucket_break_even(
    histogram: StepHistogram,
    sizes: tuple[int, ...],
    cost: StepCost,
    uptime_s: float = break_even_core.UPTIME_S,
    restore_ms: float | None = None,
) -> break_even_core.SetBreakEven:
    """Raises InputError."""
    return break_even_core.bucket_break_even(
        histogram, sizes, cost, uptime_s=uptime_s, restore_ms=restore_ms
    )


@st.cache_data(max_entries=4)
def profiles_that_ship() -> dict[str, Profile]:
    return shipped_profiles()


@dataclass(frozen=True)
class CostView:
    """The step cost and graph memory in use, with what to say beside them."""

    name: str
    cost: StepCost
    memory: GraphMemory


@st.cache_data(max_entries=16, hash_funcs=_HASH)
def cost_view(choice: CostChoice) -> CostView:
    """From a profile, a roofline or the assumption. Raises InputError."""
    if choice.profile is not None:
        profile = choice.profile
        return CostView(choice.name, cost_from_profile(profile), memory_from_profile(profile))
    if choice.roofline is not None:
        roofline = choice.roofline
        cost = roofline_step_cost(
            model_config(roofline.config_text),
            card_named(roofline.card),
            context_tokens=roofline.context_tokens,
            tp=roofline.tp,
        )
        return CostView(choice.name, cost, assumed_graph_memory())
    terms = asdict(choice.assumption) if choice.assumption else {}
    return CostView(choice.name, assumed_step_cost(**terms), assumed_graph_memory())


def model_config(text: str) -> Mapping[str, Any]:
    """A pasted config.json. Raises ModelConfigError."""
    try:
        config = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        where = getattr(error, "lineno", "?")
        raise ModelConfigError(
            f"The model config is not JSON (line {where}); paste the whole config.json of the "
            "model."
        ) from error
    if not isinstance(config, dict):
        raise ModelConfigError("The model config is no JSON object; paste the whole config.json.")
    return config


@st.cache_data(max_entries=64, hash_funcs=_HASH)
def graph_bytes(
    sizes: tuple[int, ...],
    memory: GraphMemory,
    policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST,
) -> float:
    return memory_core.graph_bytes(sizes, memory, policy)


@st.cache_data(max_entries=64, hash_funcs=_HASH)
def mean_step_us(histogram: StepHistogram, sizes: tuple[int, ...], cost: StepCost) -> float | None:
    """Mean wall time of one step of this traffic with these graphs [us].

    None where the cost prices other steps than the histogram counts.
    """
    try:
        return break_even_core.bucket_break_even(histogram, sizes, cost).whole.graph_us
    except CostUnitError:
        return None


@st.cache_data(max_entries=16, hash_funcs=_HASH)
def capacity_curves(
    best: Frontier, choice: MemoryChoice, memory: GraphMemory
) -> list[memory_core.CapacityCurve]:
    """KV left beside the best sets of 0, 1, 2 ... graphs: the chosen pool and private pools."""
    sets = [(), *(point.sizes for point in best.points)]
    policies = dict.fromkeys([choice.policy, PoolPolicy.PRIVATE])
    return [_capacity(sets, choice, memory, policy) for policy in policies]


def _capacity(
    sets: Sequence[Sequence[int]], choice: MemoryChoice, memory: GraphMemory, policy: PoolPolicy
) -> memory_core.CapacityCurve:
    return memory_core.capacity_curve(
        sets,
        free_bytes=choice.free_bytes,
        memory=memory,
        policy=policy,
        bytes_per_token=choice.kv_bytes_per_token,
        tokens_per_request=choice.tokens_per_request,
    )


def capacity_mark(
    bucket_set: BucketSet, colour: str, choice: MemoryChoice, memory: GraphMemory
) -> CapacityMark:
    """What one set's graphs take and leave, for its point on the chart."""
    curve = _capacity([bucket_set.sizes], choice, memory, choice.policy)
    return CapacityMark(
        bucket_set.name,
        len(bucket_set),
        float(curve.graph_bytes[0]),
        int(curve.kv_blocks[0]),
        int(curve.kv_tokens[0]),
        int(curve.requests[0]),
        float(curve.kv_lost[0]),
        colour,
    )


def curves(item: break_even_core.BucketBreakEven) -> break_even_core.CumulativeCurves:
    """Cumulative time of a bucket or of the whole set."""
    return break_even_core.cumulative_curves(item.capture_us, item.eager_us, item.graph_us)
