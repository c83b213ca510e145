"""Cached calls into core; st.cache_data lives here alone.

Records are hashed by their content, so a cached answer is never that of another input.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, BinaryIO

import numpy as np
import streamlit as st

from core import break_even as break_even_core
from core import memory as memory_core
from core.buckets import Frontier, frontier, optimal_buckets
from core.engines import ENGINES
from core.example_trace import example_trace, poisson_arrivals
from core.padding import PaddingReport, padding_report
from core.profiles import shipped_profiles
from core.readers import ReadOptions, read
from core.readers.reading import Reading
from core.records import (
    BucketSet,
    GraphMemory,
    PoolPolicy,
    Profile,
    StepCost,
    StepHistogram,
    Trace,
)
from core.simulate import Machine, SimulationResult, simulate
from core.step_cost import (
    assumed_graph_memory,
    assumed_step_cost,
    cost_from_profile,
    memory_from_profile,
)

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
        BucketSet,
        GraphMemory,
        Machine,
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


@st.cache_data(max_entries=2, show_spinner="Making the example trace …")
def example() -> Trace:
    return example_trace()


@st.cache_data(max_entries=8, show_spinner="Simulating the engine …", hash_funcs=_HASH)
def simulation(
    trace: Trace, machine: Machine, cost: StepCost, sizes: tuple[int, ...] | None
) -> SimulationResult:
    """Raises SettingError."""
    return simulate(trace, machine, cost, sizes)


@st.cache_data(max_entries=8, hash_funcs=_HASH)
def with_arrivals(trace: Trace, rate_rps: float, seed: int = 0) -> Trace:
    """The same lengths, arriving at random at a given rate."""
    return poisson_arrivals(trace, rate_rps=rate_rps, seed=seed)


@st.cache_data(max_entries=64, hash_funcs=_HASH)
def padding(histogram: StepHistogram, sizes: tuple[int, ...]) -> PaddingReport:
    return padding_report(histogram, sizes)


@st.cache_data(max_entries=16, show_spinner="Searching the best bucket sets …", hash_funcs=_HASH)
def best_frontier(histogram: StepHistogram, cost: StepCost | None = None) -> Frontier:
    """The exact optimum for every number of graphs up to MAX_GRAPHS."""
    return frontier(histogram, max_graphs=MAX_GRAPHS, cost=cost)


@st.cache_data(max_entries=32, hash_funcs=_HASH)
def best_set(histogram: StepHistogram, num_graphs: int) -> BucketSet:
    return optimal_buckets(histogram, max_graphs=num_graphs)


@st.cache_data(max_entries=64)
def engine_default(engine: str, version: str | None, settings: Mapping[str, Any]) -> Any:
    """DefaultSizes of an engine. Raises SettingError."""
    return ENGINES[engine].default_sizes(version, settings)


@st.cache_data(max_entries=32, hash_funcs=_HASH)
def bucket_break_even(
    histogram: StepHistogram, sizes: tuple[int, ...], cost: StepCost
) -> break_even_core.SetBreakEven:
    return break_even_core.bucket_break_even(histogram, sizes, cost)


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
def cost_view(name: str, profile: Profile | None) -> CostView:
    """From a profile, or the assumption when there is none. Raises InputError."""
    if profile is None:
        return CostView(name, assumed_step_cost(), assumed_graph_memory())
    return CostView(name, cost_from_profile(profile), memory_from_profile(profile))


@st.cache_data(max_entries=64, hash_funcs=_HASH)
def graph_bytes(sizes: tuple[int, ...], memory: GraphMemory, policy: PoolPolicy) -> float:
    return memory_core.graph_bytes(sizes, memory, policy)
