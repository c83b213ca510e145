"""Charts of what bucket sets do to the latency of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from app import theme
from core.simulate import SimulationResult


@dataclass(frozen=True)
class Served:
    """One bucket set after its simulated run."""

    name: str
    colour: str
    num_graphs: int
    kv_tokens: int
    result: SimulationResult


MEASURES = (
    ("TTFT", "ttft_ms"),
    ("TPOT", "tpot_ms"),
    ("ITL, a gap between tokens", "itl_ms"),
    ("end to end", "e2e_ms"),
)
"""Title and attribute of each latency, row by row of a grid two wide, which fits a phone."""


def latency_figure(runs: Sequence[Served]) -> go.Figure:
    """Percentiles of four latencies, one group of bars a set."""
    figure = make_subplots(
        rows=2, cols=2, subplot_titles=[m[0] for m in MEASURES], vertical_spacing=0.14
    )
    for run in runs:
        latency = run.result.latency()
        for place, (_, attribute) in enumerate(MEASURES):
            values = getattr(latency, attribute)
            figure.add_trace(
                go.Bar(
                    x=["p50", "p90", "p99"],
                    y=[values.p50, values.p90, values.p99],
                    name=run.name,
                    legendgroup=run.name,
                    showlegend=place == 0,
                    marker={"color": run.colour},
                    hovertemplate="%{x}: %{y:.4g} ms<extra>%{fullData.name}</extra>",
                ),
                row=1 + place // 2,
                col=1 + place % 2,
            )
    theme.styled(figure, title="Latency of requests (estimated by simulation)", height=560)
    figure.update_layout(barmode="group", margin={"t": 84})
    figure.update_annotations(font={"size": theme.FONT_SIZE})
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="milliseconds", col=1)
    return figure


def series_figure(runs: Sequence[Served]) -> go.Figure:
    """Requests running and waiting, and the share of the KV cache held, over the run."""
    titles = ("running", "waiting", "KV cache held (of what the set's graphs leave)")
    units = ("requests", "requests", "%")
    figure = make_subplots(
        rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.08, subplot_titles=titles
    )
    for run in runs:
        series = run.result.series
        held = 100 * run.result.kv_share
        _series(figure, run, 1, series.running, "%{y:,} requests")
        _series(figure, run, 2, series.waiting, "%{y:,} requests")
        _series(figure, run, 3, held, "%{y:.1f} %, %{customdata:,} tokens", series.kv_tokens)
    theme.styled(figure, title="State of the engine over the run (estimated)", height=560)
    figure.update_layout(margin={"t": 84}, showlegend=True)
    figure.update_annotations(x=0, xanchor="left", font={"size": theme.FONT_SIZE})
    figure.update_xaxes(title="time since the first request [s]", row=3, col=1)
    for row, unit in enumerate(units, start=1):
        figure.update_yaxes(title=unit, rangemode="tozero", row=row, col=1)
    return figure


def _series(
    figure: go.Figure,
    run: Served,
    row: int,
    values: NDArray,
    text: str,
    customdata: NDArray | None = None,
) -> None:
    figure.add_trace(
        go.Scatter(
            x=run.result.series.time_s,
            y=values,
            mode="lines",
            line={"color": run.colour, "width": 1.5},
            name=run.name,
            legendgroup=run.name,
            showlegend=row == 1,
            customdata=customdata,
            meta=["KV tokens"],
            hovertemplate=f"%{{x:.1f}} s: {text}<extra>%{{fullData.name}}</extra>",
        ),
        row=row,
        col=1,
    )
