"""What the runs of the Serve page gave: the verdict, the figures side by side, the charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from app import state
from app.charts.serving import Served, latency_figure, series_figure
from app.charts.serving_steps import eager_figure, mixed_steps_figure, padded_figure, steps_figure
from app.drawing.markdown_text import as_text
from app.drawing.views import chart, table
from app.serving.tables import figure_rows, served_rows
from core.serving.verdict import ServedSet, verdict

LATENCY, TIME, STEPS, PADDING, FIGURES = (
    *("Latency", "Over time", "Step sizes", "Padded and eager", "All figures"),
)


@dataclass(frozen=True)
class LatencyLimits:
    """What a request must keep to count as goodput [ms]."""

    ttft_ms: float
    tpot_ms: float


def latency_limits() -> LatencyLimits:
    """The limits last chosen."""
    return LatencyLimits(state.value("ttft_limit_ms", 1000.0), state.value("tpot_limit_ms", 50.0))


def latency_limit_inputs() -> LatencyLimits:
    """Widgets for the limits of goodput; a change needs no new run."""
    left, right, _ = st.columns([1, 1, 2])
    left.number_input(
        *("Goodput: TTFT at most [ms]", 1.0, 1e6),
        key=state.remember("ttft_limit_ms", 1000.0, within=(1.0, 1e6)),
        help="Goodput counts the requests whose first token comes within this time and whose later "
        "tokens come within the next one on average.",
    )
    right.number_input(
        *("Goodput: TPOT at most [ms]", 1.0, 1e6),
        key=state.remember("tpot_limit_ms", 50.0, within=(1.0, 1e6)),
    )
    state.keep("ttft_limit_ms")
    state.keep("tpot_limit_ms")
    return latency_limits()


def show_runs(runs: Sequence[Served], limits: LatencyLimits) -> None:
    """Verdict, table and the chosen chart. Raises SettingError."""
    origin = (
        f"{runs[0].result.origin.value} by simulation, {runs[0].result.times.origin.value} times"
    )
    found = verdict(
        [ServedSet(run.name, run.num_graphs, run.result) for run in runs],
        ttft_limit_s=limits.ttft_ms / 1e3,
        tpot_limit_s=limits.tpot_ms / 1e3,
    )
    st.markdown(f"**{as_text(found.sentence)}**")
    table(served_rows(runs, limits.ttft_ms, limits.tpot_ms), "served", origin)
    views = [LATENCY, TIME, STEPS, PADDING, FIGURES]
    st.segmented_control(
        *("Look at", views), key=state.remember("serving_view", LATENCY), required=True
    )
    _draw(state.keep("serving_view"), runs, limits, origin)


def _draw(view: str, runs: Sequence[Served], limits: LatencyLimits, origin: str) -> None:
    if view == LATENCY:
        chart(latency_figure(runs), "latency", origin)
    elif view == TIME:
        chart(series_figure(runs), "series", origin)
    elif view == STEPS:
        chart(steps_figure(runs), "served_steps", origin)
        chart(mixed_steps_figure(runs), "served_mixed", origin)
    elif view == PADDING:
        _padding(runs, origin)
    else:
        table(figure_rows(runs, limits.ttft_ms, limits.tpot_ms), "served_figures", origin)


def _padding(runs: Sequence[Served], origin: str) -> None:
    """Both charts; sets without a bar are named below, and a chart of none is not drawn."""
    st.caption(
        "Decode steps only: a padded slot is a place in a replayed batch that does no work; an "
        "eager step found no graph large enough."
    )
    for draw, key, counted, nothing in (
        (padded_figure, "served_padded", "padded_slots", "No slot is padded with"),
        (eager_figure, "served_eager", "eager_steps", "No decode step runs eager with"),
    ):
        without = [run.name for run in runs if not getattr(run.result, counted)]
        if len(without) < len(runs):
            chart(draw(runs), key, origin)
        if without:
            st.caption(f"{nothing} {', '.join(without)}.")
