"""Charts of two sessions laid over each other, each session in one colour throughout."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app import theme
from app.sessions.compare import Side, set_names
from core.session_figures import Unit

SCALES = {
    Unit.SHARE: (100.0, "%"),
    Unit.US: (1.0, "µs"),
    Unit.BYTES: (2.0**-30, "GiB"),
    Unit.TOKENS: (1.0, "tokens"),
    Unit.COUNT: (1.0, "count"),
}


def steps_figure(sides: Sequence[Side]) -> go.Figure:
    """Share of all steps up to each size, one line a session."""
    figure = go.Figure()
    for side in sides:
        if side.histogram is None:
            continue
        steps = side.histogram
        figure.add_trace(
            go.Scatter(
                x=steps.sizes,
                y=100 * steps.steps.cumsum() / max(1, steps.total_steps),
                mode="lines",
                line={"color": side.colour, "shape": "hv"},
                name=side.name,
                hovertemplate="up to size %{x}: %{y:.2f} % of the steps"
                "<extra>%{fullData.name}</extra>",
            )
        )
    theme.styled(figure, title="Step sizes of both")
    figure.update_xaxes(title=f"size of the step [{_units(sides)}]", rangemode="tozero")
    figure.update_yaxes(title="share of all steps [%]", rangemode="tozero")
    return figure


def _units(sides: Sequence[Side]) -> str:
    found = dict.fromkeys(s.histogram.unit.value for s in sides if s.histogram is not None)
    return " or ".join(found)


def best_figure(sides: Sequence[Side]) -> go.Figure:
    """The least waste that K graphs can have with each session's traffic, and its own sets."""
    figure = go.Figure()
    for side in sides:
        if side.frontier is None:
            continue
        points = side.frontier.points
        figure.add_trace(
            go.Scatter(
                x=[point.k for point in points],
                y=[100 * point.waste for point in points],
                mode="lines",
                line={"color": side.colour},
                name=f"{side.name}: best possible",
                hovertemplate="%{x} graphs: %{y:.2f} %<extra>%{fullData.name}</extra>",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=[item.num_graphs for item in side.sets],
                y=[None if item.waste is None else 100 * item.waste for item in side.sets],
                text=[item.name for item in side.sets],
                mode="markers",
                marker={"size": 11, "color": side.colour},
                name=f"{side.name}: its sets",
                hovertemplate="%{text}: %{x} graphs, %{y:.2f} %<extra>%{fullData.name}</extra>",
            )
        )
    theme.styled(figure, title="Padding against the number of graphs")
    figure.update_xaxes(title="captured graphs", rangemode="tozero")
    figure.update_yaxes(title="padded share of the slots [%]", rangemode="tozero")
    return figure


def sets_figure(sides: Sequence[Side], what: str, unit: Unit) -> go.Figure:
    """One number of every bucket set, the two sessions' bars side by side."""
    scale, unit_text = SCALES[unit]
    names = set_names(sides)
    figure = go.Figure()
    for side in sides:
        values = {f.about: f.value for f in side.figures if f.what == what}
        figure.add_trace(
            go.Bar(
                x=names,
                y=[None if values.get(n) is None else scale * (values[n] or 0.0) for n in names],
                marker={"color": side.colour},
                name=side.name,
                hovertemplate=f"%{{x}}: %{{y:,.6g}} {unit_text}<extra>%{{fullData.name}}</extra>",
            )
        )
    theme.styled(figure, title=f"{what.capitalize()} of each bucket set")
    figure.update_layout(barmode="group", bargap=0.25)
    figure.update_xaxes(title="bucket set")
    figure.update_yaxes(title=f"{what} [{unit_text}]", rangemode="tozero")
    return figure
