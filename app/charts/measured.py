"""Charts of what a worker measured."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app import theme
from core.records import MeasureRow, StepCost


def _with_quartiles(
    rows: Sequence[MeasureRow], what: str, label: str, colour: str
) -> go.Scatter | None:
    """Medians with quartile bars; None when no row has the figure."""
    points = [row for row in rows if getattr(row, f"{what}_us") is not None]
    if not points:
        return None
    median = [getattr(row, f"{what}_us") for row in points]
    low = [getattr(row, f"{what}_q1_us") or m for row, m in zip(points, median, strict=True)]
    high = [getattr(row, f"{what}_q3_us") or m for row, m in zip(points, median, strict=True)]
    return go.Scatter(
        x=[row.size for row in points],
        y=[m / 1e3 for m in median],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, h - m) / 1e3 for h, m in zip(high, median, strict=True)],
            "arrayminus": [max(0.0, m - q) / 1e3 for q, m in zip(low, median, strict=True)],
        },
        mode="markers",
        marker={"color": colour, "size": 6},
        name=label,
        customdata=[row.samples for row in points],
        meta=["samples"],
        hovertemplate=(
            "size %{x}: %{y:.4g} ms (median of %{customdata})<extra>%{fullData.name}</extra>"
        ),
    )


def step_time_figure(rows: Sequence[MeasureRow], device: str) -> go.Figure:
    """Measured time of one step by size, eager and replayed."""
    figure = go.Figure()
    for what, label, colour in (
        ("eager", "eager", theme.EAGER),
        ("replay", "graph replay", theme.GRAPH),
    ):
        trace = _with_quartiles(sorted(rows, key=lambda row: row.size), what, label, colour)
        if trace is not None:
            figure.add_trace(trace)
    theme.styled(figure, title=f"Step time (measured on {device})", height=360)
    figure.update_xaxes(title="size of the step [requests]", rangemode="tozero")
    figure.update_yaxes(title="median step time [ms]", rangemode="tozero")
    figure.update_layout(showlegend=True)
    return figure


def with_fit(figure: go.Figure, cost: StepCost) -> None:
    """Draw the curves that the other pages compute with over the measured points."""
    for label, values, colour in (
        ("eager, fitted", cost.eager_us, theme.EAGER),
        ("graph replay, fitted", cost.replay_us, theme.GRAPH),
    ):
        figure.add_trace(
            go.Scatter(
                x=cost.sizes,
                y=values / 1e3,
                mode="lines",
                line={"color": colour, "width": 1, "dash": "dot"},
                name=label,
                hovertemplate="size %{x}: %{y:.4g} ms<extra>%{fullData.name}</extra>",
            )
        )


def graph_memory_figure(rows: Sequence[MeasureRow], device: str) -> go.Figure:
    """Device memory of each graph, in order of capture: what the shared pool grew by, and what
    the graph would hold in a pool of its own."""
    points = [row for row in rows if row.pool_bytes is not None or row.graph_bytes is not None]
    sizes = [str(row.size) for row in points]
    figure = go.Figure()
    for attribute, label, colour in (
        ("pool_growth_bytes", "the set's pool grew by", theme.SET_COLOURS[0]),
        ("graph_bytes", "driver, outside the pool", theme.SET_COLOURS[4]),
    ):
        figure.add_trace(
            go.Bar(
                x=sizes,
                y=[(getattr(row, attribute) or 0) / 2**20 for row in points],
                name=label,
                marker={"color": colour},
                hovertemplate="size %{x}: %{y:.4g} MiB<extra>%{fullData.name}</extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=sizes,
            y=[(row.pool_bytes or 0) / 2**20 for row in points],
            mode="markers",
            marker={"color": theme.NEUTRAL, "symbol": "line-ew-open", "size": 12},
            name="alone, in a pool of its own",
            hovertemplate="size %{x}: %{y:.4g} MiB<extra>%{fullData.name}</extra>",
        )
    )
    theme.styled(figure, title=f"Graph memory (measured on {device})", height=320)
    figure.update_layout(barmode="stack")
    figure.update_xaxes(title="captured size, in order of capture", type="category")
    figure.update_yaxes(title="memory [MiB]")
    return figure
