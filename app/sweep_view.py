"""The sweep on the Serve page: numbers of graphs under several loads."""

from __future__ import annotations

import streamlit as st

from app import compute, serving, state
from app.best_choice import best_choice
from app.charts.sweep import FIGURE_WORDS, sweep_figure
from app.inputs import ServingLimits
from app.views import chart
from core.errors import ProjectError
from core.records import BucketSet, PoolPolicy, StepHistogram, Trace
from core.records.sweep import Sweep
from core.serving_sweep import sweep
from core.sweep_spec import LOADS, SweepSpec, sweep_sets

GRAPH_COUNTS = (1, 2, 4, 8, 16, 32, 64)


def sweep_section(
    trace: Trace, histogram: StepHistogram, limits: ServingLimits, view: compute.CostView
) -> None:
    """Best sets of growing size, and eager, under each load; with progress, stopped by Stop."""
    st.subheader("How many graphs, at which load?", anchor=False)
    st.caption(
        "Serves the requests with the best set of 1, 2, 4 … 64 graphs, and without graphs, under "
        "each load. The star marks the fewest graphs within 1 % of the best."
    )
    st.pills(
        "Loads",
        list(LOADS),
        selection_mode="multi",
        format_func=lambda load: f"x{load:g}",
        key=state.remember("sweep_loads", list(LOADS)),
    )
    loads = sorted(state.keep("sweep_loads") or [1.0])
    limits_ms = (state.value("ttft_limit_ms", 1000.0), state.value("tpot_limit_ms", 50.0))
    key = compute.content_digest((trace, limits, loads, limits_ms, view.cost, best_choice()))
    if st.button("Run the sweep", key="sweep"):
        _run(key, trace, histogram, limits, loads, view)
    stored = state.session().values.get("swept")
    if stored is None or stored[0] != key:
        return
    _show(stored[1], loads)


def _run(
    key: str,
    trace: Trace,
    histogram: StepHistogram,
    limits: ServingLimits,
    loads: list[float],
    view: compute.CostView,
) -> None:
    bar = st.progress(0.0, text="Serving …")

    def show(share: float) -> None:
        bar.progress(share, text=f"Serving, {100 * share:.0f} % done")

    try:
        frontier = compute.best_frontier(histogram, best_choice(), view.cost)
        points = {frontier.at(k).sizes: k for k in reversed(GRAPH_COUNTS)}
        sets: list[BucketSet | None] = [None]
        sets += [BucketSet(f"best {len(sizes)}", sizes) for sizes in points if sizes]
        spec = SweepSpec(
            serving.machine_of(limits),
            view.cost,
            view.memory,
            serving.kv_bytes_per_token(),
            sweep_sets(sets),
            len(trace),
            loads=tuple(loads),
            policy=state.value("policy", PoolPolicy.SHARED_LARGEST_FIRST),
            prefill=view.prefill,
            ttft_limit_s=state.value("ttft_limit_ms", 1000.0) / 1e3,
            tpot_limit_s=state.value("tpot_limit_ms", 50.0) / 1e3,
        )
        found = sweep(trace, spec, show)
    except ProjectError as error:
        st.error(str(error))
    else:
        state.session().values["swept"] = (key, found)
    bar.empty()


def _show(found: Sweep, loads: list[float]) -> None:
    figures = list(FIGURE_WORDS)
    st.selectbox(
        "Judge by",
        figures,
        format_func=lambda f: FIGURE_WORDS[f],
        key=state.remember("sweep_figure", figures[0]),
    )
    figure = state.keep("sweep_figure")
    chart(sweep_figure(found, figure, loads), "sweep_chart")
    for load in loads:
        try:
            best = found.best(load, figure, within=0.01)
        except ProjectError as error:
            st.markdown(f"- Load x{load:g}: {error}")
        else:
            st.markdown(
                f"- Load x{load:g}: **{best.num_graphs} graphs** are the fewest within 1 % of the "
                f"best; they leave {best.kv_tokens:,} KV tokens."
            )
    for text in dict.fromkeys(row.error for row in found.rows if row.error):
        st.warning(text)
