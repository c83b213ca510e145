"""The chart of what more graphs buy in step time, and what they take."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from app import theme
from core.trade_off import TradeOff, TradePoint

HOVER = (
    "%{x} graphs: mean step %{y:.4g} ms<br>graph memory %{customdata[0]}, "
    "capture %{customdata[1]}<extra>%{fullData.name}</extra>"
)


def _hover(point: TradePoint) -> tuple[str, str]:
    return theme.bytes_text(point.graph_bytes), theme.seconds_text(point.capture_s)


def trade_off_figure(trade: TradeOff, colours: Mapping[str, str]) -> go.Figure:
    """Mean step time against the number of graphs: best sets, the user's sets, and the floor."""
    figure = go.Figure(
        go.Scatter(
            x=[point.num_graphs for point in trade.best],
            y=[point.step_us / 1e3 for point in trade.best],
            customdata=[_hover(point) for point in trade.best],
            mode="lines+markers",
            line={"color": theme.NEUTRAL},
            marker={"size": 4},
            name="least possible (exact)",
            hovertemplate=HOVER,
        )
    )
    for point in trade.marked:
        figure.add_trace(
            go.Scatter(
                x=[point.num_graphs],
                y=[point.step_us / 1e3],
                customdata=[_hover(point)],
                mode="markers",
                marker={"size": 12, "color": colours[point.name]},
                name=point.name,
                hovertemplate=HOVER,
            )
        )
    figure.add_hline(
        y=trade.floor_us / 1e3,
        line={"dash": "dot", "color": theme.NEUTRAL},
        annotation_text="floor: a graph for every size",
        annotation_position="bottom right",
    )
    theme.styled(figure, title=f"Mean step time against the number of graphs ({trade.origin})")
    figure.update_xaxes(title="captured graphs", rangemode="tozero")
    figure.update_yaxes(title="mean step [ms]")
    return figure
