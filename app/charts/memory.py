"""The chart of KV capacity against the number of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from app import theme
from core.memory import CapacityCurve, held_tokens

HOVER = (
    "%{x} graphs: %{y:,.0f} KV tokens, %{customdata:,.0f} requests<extra>%{fullData.name}</extra>"
)


@dataclass(frozen=True)
class CapacityMark:
    """Where a bucket set stands: what its graphs take, and what they leave."""

    name: str
    num_graphs: int
    graph_bytes: float
    kv_blocks: int
    kv_tokens: int
    requests: int
    kv_lost: float
    colour: str


def capacity_figure(
    curves: Sequence[CapacityCurve], marks: Sequence[CapacityMark], tokens_per_request: float
) -> go.Figure:
    """KV tokens (left) and concurrent requests of a typical length (right) by number of graphs."""
    figure = go.Figure()
    dashes = ("solid", "dash", "dot")
    for curve, dash in zip(curves, dashes, strict=False):
        figure.add_trace(
            go.Scatter(
                x=curve.num_graphs,
                y=curve.kv_tokens,
                customdata=curve.requests,
                meta=["concurrent requests"],
                mode="lines",
                line={"dash": dash, "color": theme.NEUTRAL, "width": 2},
                name=f"{curve.policy.value} pool",
                hovertemplate=HOVER,
            )
        )
    for mark in marks:
        figure.add_trace(
            go.Scatter(
                x=[mark.num_graphs],
                y=[mark.kv_tokens],
                customdata=[mark.requests],
                meta=["concurrent requests"],
                mode="markers",
                marker={"size": 12, "color": mark.colour},
                name=mark.name,
                hovertemplate=HOVER,
            )
        )
    theme.styled(figure, title="KV cache left beside the graphs", height=420)
    figure.update_xaxes(title="captured graphs", rangemode="tozero")
    figure.update_yaxes(
        title=f"KV tokens  (÷ {held_tokens(tokens_per_request):,} = concurrent requests)"
    )
    return figure
