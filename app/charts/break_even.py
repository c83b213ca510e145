"""Charts of when capturing pays back."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app import theme
from core.break_even import CumulativeCurves
from core.bucket_break_even import BucketBreakEven


def cumulative_figure(curves: CumulativeCurves, title: str) -> go.Figure:
    """Total time after n steps, eager against captured; they cross where capture has paid back."""
    figure = go.Figure()
    for label, series, colour in (
        ("eager", curves.eager_us, theme.EAGER),
        ("capture once, then replay", curves.graph_us, theme.GRAPH),
    ):
        figure.add_trace(
            go.Scatter(
                x=curves.steps,
                y=series / 1e6,
                mode="lines",
                line={"color": colour, "width": 2.5},
                name=label,
                hovertemplate="after %{x:,.0f} steps: %{y:.4g} s<extra>%{fullData.name}</extra>",
            )
        )
    theme.styled(figure, title=title, height=400)
    figure.update_xaxes(title="steps run", rangemode="tozero")
    figure.update_yaxes(title="time spent since start-up [s]", rangemode="tozero")
    if curves.even_at is not None and curves.even_at <= curves.steps[-1]:
        figure.add_vline(x=curves.even_at, line={"dash": "dot", "color": theme.NEUTRAL})
        figure.add_annotation(
            x=curves.even_at,
            y=0.02,
            yref="paper",
            yanchor="bottom",
            xanchor="left",
            xshift=6,
            showarrow=False,
            text=f"even at {curves.even_at:,.1f} steps",
        )
    return figure


def gain_figure(rows: Sequence[BucketBreakEven], colour: str, unit: str) -> go.Figure:
    """What one replay saves against running the same step eagerly, by bucket."""
    used = [row for row in rows if row.hits]
    figure = go.Figure(
        go.Bar(
            x=[str(row.size) for row in used],
            y=[row.net_us for row in used],
            marker={"color": [colour if row.net_us > 0 else theme.BAD for row in used]},
            customdata=[f"{row.hits:,} steps; {row.verdict}" for row in used],
            hovertemplate="bucket %{x}: %{y:,.1f} µs a step<br>%{customdata}<extra></extra>",
        )
    )
    theme.styled(figure, title="Net gain of a replay over an eager step", height=340)
    figure.update_xaxes(title=f"bucket [{unit}]", type="category")
    figure.update_yaxes(title="eager minus replay [µs a step]")
    return figure
