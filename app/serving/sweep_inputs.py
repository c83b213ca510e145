"""What a sweep of the Serve page runs: the loads, and best sets of growing size."""

from __future__ import annotations

import streamlit as st

from app import compute, state
from app.deciding.best_choice import best_choice
from app.serving import runs as serving
from app.serving.choice import ServingLimits, cost_of, machine_of
from core.records import BucketSet, PoolPolicy, StepHistogram, Trace
from core.serving.spec import LOADS, SweepSpec, sweep_sets

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
    """The sweep of the present settings.

    trace : as the file gives it; load and prefix hits are in the spec
    Raises SettingError, CaptureSizesError.
    """
    frontier = compute.best_frontier(histogram, best_choice(), view.cost)
    sizes = dict.fromkeys(frontier.at(k).sizes for k in GRAPH_COUNTS)
    best = [BucketSet(f"best {len(found)}", found) for found in sizes if found]
    return SweepSpec(
        machine_of(limits),
        cost_of(view.cost, limits),
        view.memory,
        serving.kv_bytes_per_token(),
        sweep_sets([None, *best]),
        len(trace),
        loads=loads,
        policy=state.value("policy", PoolPolicy.SHARED_LARGEST_FIRST),
        prefill=view.prefill,
        base_load=limits.load_factor,
        concurrency=limits.concurrency,
        prefix_hit_rate=limits.prefix_hit_rate if limits.prefix_cache else None,
        ttft_limit_s=state.value("ttft_limit_ms", 1000.0) / 1e3,
        tpot_limit_s=state.value("tpot_limit_ms", 50.0) / 1e3,
    )
