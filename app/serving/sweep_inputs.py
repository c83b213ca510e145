"""What a sweep of the Serve page runs: the loads, and best sets of growing size."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import compute, state
from app.deciding.best_choice import best_choice
from app.inputs.cost import steps_cost
from app.serving import runs as serving
from app.serving.choice import ServingLimits, cost_of, machine_of
from app.workload.step_simulation import DECODE, simulated_steps
from core.records import BucketSet, PoolPolicy, StepHistogram, Trace
from core.serving.spec import LOADS, SweepSet, SweepSpec, sweep_sets

GRAPH_COUNTS = (1, 2, 4, 8, 16, 32, 64)


def load_inputs() -> tuple[float, ...]:
    """Widget for the loads; none chosen is the traffic as it is."""
    st.pills(
        "Loads",
        list(LOADS),
        selection_mode="multi",
        format_func=lambda load: f"x{load:g}",
        key=state.remember("sweep_loads", list(LOADS)),
        help="Factors on the arrival rate above, or in a closed loop on the requests in flight.",
    )
    return tuple(sorted(state.keep("sweep_loads") or [1.0]))


def sweep_spec(
    trace: Trace,
    histogram: StepHistogram,
    limits: ServingLimits,
    view: compute.CostView,
    loads: tuple[float, ...],
) -> SweepSpec:
    """The sweep of the present settings: each load has the best sets for its own steps.

    trace : as the file gives it; load and prefix hits are in the spec
    histogram : decode steps at load 1; those at other loads are simulated
    Raises SettingError, CaptureSizesError.
    """
    return SweepSpec(
        machine_of(limits),
        cost_of(view.cost, limits),
        view.memory,
        serving.kv_bytes_per_token(),
        sweep_sets([None]),
        len(trace),
        loads=loads,
        policy=state.value("policy", PoolPolicy.SHARED_LARGEST_FIRST),
        prefill=view.prefill,
        base_load=limits.load_factor,
        concurrency=limits.concurrency,
        prefix_hit_rate=limits.prefix_hit_rate if limits.prefix_cache else None,
        ttft_limit_s=state.value("ttft_limit_ms", 1000.0) / 1e3,
        tpot_limit_s=state.value("tpot_limit_ms", 50.0) / 1e3,
        sets_by_load=tuple(_best_sets(_steps_at(load, trace, histogram, limits)) for load in loads),
    )


def _steps_at(
    load: float, trace: Trace, histogram: StepHistogram, limits: ServingLimits
) -> StepHistogram:
    """The decode steps of one load, kept between runs of the page. Raises SettingError."""
    if load == 1.0:
        return histogram
    in_flight = limits.concurrency
    scaled = replace(
        limits,
        load_factor=limits.load_factor * load,
        concurrency=None if in_flight is None else max(1, round(in_flight * load)),
    )
    return simulated_steps(trace, scaled, DECODE)


def _best_sets(steps: StepHistogram) -> tuple[SweepSet, ...]:
    """The best sets of growing size. Raises ProjectError."""
    frontier = compute.best_frontier(steps, best_choice(), steps_cost(steps).cost)
    sizes = dict.fromkeys(frontier.at(k).sizes for k in GRAPH_COUNTS)
    return sweep_sets([BucketSet(f"best {len(found)}", found) for found in sizes if found])
