"""The chart of the step times that every page computes with."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app import theme
from core.records import FloatArray, IntArray, MeasureRow, StepCost
from core.step_cost import eager_us_at, graph_step_us_at


def step_cost_figure(cost: StepCost, sizes: IntArray, rows: Sequence[MeasureRow] = ()) -> go.Figure:
    """Eager and graph step by size; measured medians as points on the curves fitted to them.

    sizes : where to evaluate, ascending; rows : of the profile that the cost was fitted to
    """
    host = cost.row_us * sizes  # of a full bucket: as many requests as slots
    curves = (
        ("eager step", eager_us_at(cost, sizes) + host, theme.EAGER),
        ("graph step, copying in included", graph_step_us_at(cost, sizes) + host, theme.GRAPH),
    )
    points = (("eager", "eager_us", theme.EAGER), ("replay", "replay_us", theme.GRAPH))
    figure = go.Figure(
        [
            *(_curve(label, sizes, us, colour) for label, us, colour in curves),
            *(_points(label, rows, what, colour) for label, what, colour in points if rows),
        ]
    )
    theme.styled(figure, title=f"Time of one step ({cost.origin.value})", height=380)
    figure.update_xaxes(title=f"size of the step [{cost.unit.value}]", rangemode="tozero")
    figure.update_yaxes(title="step time [ms]", rangemode="tozero")
    return figure


def _curve(label: str, sizes: IntArray, us: FloatArray, colour: str) -> go.Scatter:
    return go.Scatter(
        x=sizes,
        y=us / 1e3,
        mode="lines",
        line={"color": colour, "width": 2},
        name=label,
        hovertemplate="size %{x}: %{y:.4g} ms<extra>%{fullData.name}</extra>",
    )


def _points(label: str, rows: Sequence[MeasureRow], what: str, colour: str) -> go.Scatter:
    known = [row for row in rows if getattr(row, what) is not None]
    return go.Scatter(
        x=[row.size for row in known],
        y=[getattr(row, what) / 1e3 for row in known],
        mode="markers",
        marker={"color": colour, "size": 6},
        name=f"{label}, measured",
        customdata=[row.samples for row in known],
        meta=["samples"],
        hovertemplate="size %{x}: %{y:.4g} ms (median of %{customdata})"
        "<extra>%{fullData.name}</extra>",
    )
