"""Charts of what a worker measured."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app import theme
from core.records import MeasureRow, Profile, SizeUnit, StepCost

MOST_SINGLE_TICKS = 10


def _with_quartiles(
    rows: Sequence[MeasureRow], what: str, label: str, colour: str, mode: str = "markers"
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
        mode=mode,
        marker={
            "color": colour,
            "size": 6,
            "symbol": "circle-open" if what == "eager" and "lines" in mode else "circle",
        },
        line={"color": colour, "width": 1, "dash": "dot" if what == "eager" else "solid"},
        name=label,
        customdata=[row.samples for row in points],
        meta=["samples"],
        hovertemplate=(
            "size %{x}: %{y:.4g} ms (median of %{customdata})<extra>%{fullData.name}</extra>"
        ),
    )


def step_time_figure(
    rows: Sequence[MeasureRow],
    device: str,
    unit: SizeUnit = SizeUnit.REQUESTS,
    turns_at: float | None = None,
) -> go.Figure:
    """Measured time of one step by size, eager and replayed.

    turns_at : the size at which steps turn from launch-bound to GPU-bound, marked by a line
    """
    figure = go.Figure()
    for what, label, colour in (
        ("eager", "eager", theme.EAGER),
        ("replay", "graph replay", theme.GRAPH),
    ):
        trace = _with_quartiles(sorted(rows, key=lambda row: row.size), what, label, colour)
        if trace is not None:
            figure.add_trace(trace)
    largest = max((row.size for row in rows), default=0)
    _styled(figure, f"Step time (measured on {device})", unit, largest)
    if turns_at is not None:
        figure.add_vline(x=turns_at, line={"color": theme.NEUTRAL, "width": 1, "dash": "dash"})
        for words, anchor in (("launch-bound ", "right"), (" GPU-bound", "left")):
            figure.add_annotation(
                x=turns_at, y=1, yref="paper", yanchor="bottom", text=words, xanchor=anchor,
                showarrow=False, font={"color": theme.NEUTRAL},
            )  # fmt: skip
    return figure


def context_figure(profiles: Sequence[Profile]) -> go.Figure:
    """Measured time of one step by size, a pair of lines a context: replayed, and dotted eager."""
    figure = go.Figure()
    for i, profile in enumerate(sorted(profiles, key=lambda p: p.spec.context_tokens)):
        colour = theme.SET_COLOURS[i % len(theme.SET_COLOURS)]
        rows = sorted(profile.rows, key=lambda row: row.size)
        for what, words in (("replay", "graph replay"), ("eager", "eager")):
            label = f"{words}, context {profile.spec.context_tokens:,}"
            trace = _with_quartiles(rows, what, label, colour, "lines+markers")
            if trace is not None:
                figure.add_trace(trace)
    device = profiles[0].device.name
    spec = profiles[0].spec
    _styled(figure, f"Step time by context (measured on {device})", spec.unit, spec.sizes[-1])
    return figure


def _styled(figure: go.Figure, title: str, unit: SizeUnit, largest: int) -> None:
    theme.styled(figure, title=title, height=380)
    figure.update_xaxes(title=f"size of the step [{unit.value}]", rangemode="tozero")
    if largest <= MOST_SINGLE_TICKS:
        figure.update_xaxes(dtick=1)  # no tick between two sizes
    figure.update_yaxes(title="median step time [ms]", rangemode="tozero")
    figure.update_layout(showlegend=True)


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
