"""Files, traces and simulated runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import numpy as np
import streamlit as st

from app.compute.hashing import HASH
from core.example.reading import example_reading as make_example
from core.example.trace import gamma_arrivals
from core.readers import ReadOptions, read
from core.readers.common.lengths import weighted_percentiles
from core.readers.reading import Reading
from core.records import (
    LengthHistogram,
    StepCost,
    StepHistogram,
    Trace,
)
from core.simulate import Machine, PrefillCost, SimulationResult, simulate
from core.trace_changes import scaled_arrivals, with_prefix_hit_rate


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


@st.cache_data(
    max_entries=1, scope="session", show_spinner="Simulating the engine …", hash_funcs=HASH
)
def simulation(
    trace: Trace,
    machine: Machine,
    cost: StepCost,
    sizes: tuple[int, ...] | None,
    prefill: PrefillCost | None = None,
    concurrency: int | None = None,
) -> SimulationResult:
    """The last one of each browser session is kept, so that many people with different traffic
    do not make each other's pages simulate again. Raises SettingError.
    """
    return _simulation(trace, machine, cost, sizes, prefill, concurrency)


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=HASH)
def _simulation(
    trace: Trace,
    machine: Machine,
    cost: StepCost,
    sizes: tuple[int, ...] | None,
    prefill: PrefillCost | None,
    concurrency: int | None,
) -> SimulationResult:
    """The last few of all sessions: people who open the same link share one."""
    return simulate(trace, machine, cost, sizes, prefill=prefill, concurrency=concurrency)


@st.cache_data(
    max_entries=8, scope="session", show_spinner="Simulating the engine …", hash_funcs=HASH
)
def simulated_steps(
    trace: Trace,
    machine: Machine,
    cost: StepCost,
    sizes: tuple[int, ...] | None,
    prefill: PrefillCost | None,
    concurrency: int | None,
    decode: bool,
) -> StepHistogram:
    """Decode steps of a run, else those that hold prefill: small, so several are kept.

    Raises SettingError.
    """
    result = simulate(trace, machine, cost, sizes, prefill=prefill, concurrency=concurrency)
    return result.decode_slots if decode else result.mixed_steps


def served(
    trace: Trace,
    machine: Machine,
    cost: StepCost,
    sizes: tuple[int, ...] | None,
    prefill: PrefillCost | None,
    concurrency: int | None,
    buckets: tuple[int, ...] | None,
    progress: Callable[[float], None],
) -> SimulationResult:
    """Not cached: it reports progress while it runs. Raises SettingError."""
    return simulate(
        *(trace, machine, cost, sizes),
        prefill=prefill,
        concurrency=concurrency,
        buckets=None if buckets is None else np.array(buckets, np.int64),
        progress=progress,
    )


def scaled(trace: Trace, load_factor: float) -> Trace:
    """The same requests arriving `load_factor` times as fast."""
    return scaled_arrivals(trace, load_factor)


def with_hit_rate(trace: Trace, rate: float) -> Trace:
    """The same requests with this share of every prompt in the prefix cache."""
    return with_prefix_hit_rate(trace, rate)


@st.cache_data(max_entries=8, hash_funcs=HASH)
def with_arrivals(trace: Trace, rate_rps: float, cv: float = 1.0, seed: int = 0) -> Trace:
    """The same lengths, arriving at random at a given rate and burstiness."""
    return gamma_arrivals(trace, rate_rps=rate_rps, cv=cv, seed=seed)
