"""The chart of what more graphs buy in step time, and what they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import plotly.graph_objects as go

from app import theme
from core.choice.trade_off import TradeOff, TradePoint
from core.text.counting import counted

HOVER = (
    "%{customdata[2]} graphs: mean step %{y:.4g} ms<br>graph memory %{customdata[0]}, "
    "capture %{customdata[1]}<br>click to make it a set<extra>%{fullData.name}</extra>"
)

AXES: dict[str, tuple[str, Callable[[TradePoint], float]]] = {
    "number of graphs": ("captured graphs", lambda point: point.num_graphs),
    "graph memory": ("graph memory [MiB]", lambda point: point.graph_bytes / 2**20),
    "capture time": ("capture at start-up [s]", lambda point: point.capture_s),
}
"""What the step time is set against."""
CUSTOM = ["memory of the graphs", "capture of the graphs", "graphs", "sizes"]
"""Names of what `_custom` gives, for the chart's CSV."""


def _custom(point: TradePoint) -> tuple[str, str, int, str]:
    return (
        theme.bytes_text(point.graph_bytes),
        theme.seconds_text(point.capture_s),
        point.num_graphs,
        ", ".join(map(str, point.sizes)),
    )


def trade_off_figure(
    trade: TradeOff, colours: Mapping[str, str], against: str = "number of graphs"
) -> go.Figure:
    """Mean step time against what it costs: best sets, the marked sets, the knee and the floor.

    colours : of the user's sets; a marked set without one is an engine's default
    """
    title, value = AXES[against]
    figure = go.Figure(
        go.Scatter(
            x=[value(point) for point in trade.best],
            y=[point.step_us / 1e3 for point in trade.best],
            customdata=[_custom(point) for point in trade.best],
            meta=CUSTOM,
            mode="lines+markers",
            line={"color": theme.NEUTRAL},
            marker={"size": 5},
            name="least possible (exact)",
            hovertemplate=HOVER,
        )
    )
    for point in trade.marked:
        figure.add_trace(_mark(point, value(point), colours.get(point.name)))
    _notes(figure, trade, value)
    theme.styled(figure, title=f"Mean step time against the {against} ({trade.origin})", height=440)
    figure.update_xaxes(title=title, rangemode="tozero")
    figure.update_yaxes(title="mean step [ms]")
    return figure


def _mark(point: TradePoint, x: float, colour: str | None) -> go.Scatter:
    """A user's set in its colour; an engine's default as an open diamond."""
    default = {"size": 10, "color": theme.NEUTRAL, "symbol": "diamond-open"}
    return go.Scatter(
        x=[x],
        y=[point.step_us / 1e3],
        customdata=[_custom(point)],
        meta=CUSTOM,
        mode="markers",
        marker={"size": 12, "color": colour} if colour else default,
        name=point.name,
        hovertemplate=HOVER,
    )


def _notes(figure: go.Figure, trade: TradeOff, value: Callable[[TradePoint], float]) -> None:
    """The knee, and the floor below which no set gets."""
    figure.add_annotation(
        x=value(trade.knee),
        y=trade.knee.step_us / 1e3,
        text=f"knee: {counted(trade.knee.num_graphs, 'graphs')}",
        ax=24,
        ay=-28,
        arrowcolor=theme.NEUTRAL,
    )
    figure.add_hline(
        y=trade.floor_us / 1e3,
        line={"dash": "dot", "color": theme.NEUTRAL},
        annotation_text="floor: a graph for every size",
        annotation_position="bottom right",
    )
