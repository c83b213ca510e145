"""Charts of what bucket sets do to the latency of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
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


def latency_figure(runs: Sequence[Served]) -> go.Figure:
    """Percentiles of four latencies, one group of bars a set."""
    measures = (
        ("TTFT", "ttft_ms"),
        ("TPOT", "tpot_ms"),
        ("gap between tokens (ITL)", "itl_ms"),
        ("end to end", "e2e_ms"),
    )
    figure = make_subplots(rows=1, cols=4, subplot_titles=[m[0] for m in measures])
    for run in runs:
        latency = run.result.latency()
        for column, (_, attribute) in enumerate(measures, start=1):
            values = getattr(latency, attribute)
            figure.add_trace(
                go.Bar(
                    x=["p50", "p90", "p99"],
                    y=[values.p50, values.p90, values.p99],
                    name=run.name,
                    legendgroup=run.name,
                    showlegend=column == 1,
                    marker={"color": run.colour},
                    hovertemplate="%{x}: %{y:.4g} ms<extra>%{fullData.name}</extra>",
                ),
                row=1,
                col=column,
            )
    theme.styled(figure, title="Latency of requests (estimated by simulation)", height=400)
    figure.update_layout(barmode="group", margin={"t": 84})
    figure.update_annotations(font={"size": theme.FONT_SIZE})
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="milliseconds", row=1, col=1)
    return figure


def series_figure(runs: Sequence[Served]) -> go.Figure:
    """Requests running and waiting, and KV tokens held, over the run."""
    rows = (
        ("running", "running", "requests"),
        ("waiting", "waiting", "requests"),
        ("KV tokens held", "kv_tokens", "tokens"),
    )
    figure = make_subplots(
        rows=3,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.08,
        subplot_titles=[r[0] for r in rows],
    )
    for run in runs:
        for row, (_, attribute, _unit) in enumerate(rows, start=1):
            figure.add_trace(
                go.Scatter(
                    x=run.result.series.time_s,
                    y=getattr(run.result.series, attribute),
                    mode="lines",
                    line={"color": run.colour, "width": 1.5},
                    name=run.name,
                    legendgroup=run.name,
                    showlegend=row == 1,
                    hovertemplate="%{x:.1f} s: %{y:,}<extra>%{fullData.name}</extra>",
                ),
                row=row,
                col=1,
            )
    theme.styled(figure, title="State of the engine over the run (estimated)", height=560)
    figure.update_layout(margin={"t": 84})
    figure.update_annotations(x=0, xanchor="left", font={"size": theme.FONT_SIZE})
    figure.update_xaxes(title="time since the first request [s]", row=3, col=1)
    for row, (_, _, unit) in enumerate(rows, start=1):
        figure.update_yaxes(title=unit, rangemode="tozero", row=row, col=1)
    return figure
