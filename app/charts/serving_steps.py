"""Charts of the steps that served requests ran in: their sizes, padding, and which ran eager."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from app import theme
from app.charts.serving import Served
from core.records import IntArray, StepHistogram
from core.size_bins import size_bins

ROW_HEIGHT = 110


def steps_figure(runs: Sequence[Served]) -> go.Figure:
    """Decode steps by the requests in them, a line a set."""
    figure = _lines([(run, run.result.decode_steps) for run in runs])
    theme.styled(figure, title="Decode steps by size (estimated)", height=320)
    figure.update_xaxes(title="requests that decode in a step", rangemode="tozero")
    figure.update_yaxes(title="steps", rangemode="tozero")
    return figure


def mixed_steps_figure(runs: Sequence[Served]) -> go.Figure:
    """Steps that hold prefill by all their tokens, a line a set."""
    figure = _lines([(run, run.result.mixed_steps) for run in runs])
    theme.styled(figure, title="Steps with prefill by size (estimated)", height=320)
    figure.update_xaxes(title="tokens in a step, decoding ones included", rangemode="tozero")
    figure.update_yaxes(title="steps", rangemode="tozero")
    return figure


def _lines(items: Sequence[tuple[Served, StepHistogram]]) -> go.Figure:
    figure = go.Figure()
    for run, histogram in items:
        bins = size_bins(histogram.sizes, histogram.steps)
        figure.add_trace(
            go.Scatter(
                x=(bins.first + bins.last) / 2,
                y=bins.sums[0],
                mode="lines",
                line={"color": run.colour, "width": 1.5, "shape": "hvh"},
                name=run.name,
                customdata=bins.labels,
                meta=["sizes"],
                hovertemplate="%{customdata}: %{y:,} steps<extra>%{fullData.name}</extra>",
            )
        )
    figure.update_layout(showlegend=True)
    return figure


def padded_figure(runs: Sequence[Served]) -> go.Figure:
    """Padded slots of the decode steps of each size, one row a set that pads."""
    items = [(run, run.result.padded_by_size) for run in runs]
    return _bars(items, "Padded slots by size of the decode step (estimated)", "slots")


def eager_figure(runs: Sequence[Served]) -> go.Figure:
    """Decode steps of each size that found no graph, one row a set that has any."""
    items = [(run, run.result.eager_by_size) for run in runs]
    return _bars(items, "Eager steps by size of the decode step (estimated)", "steps")


def _bars(items: Sequence[tuple[Served, IntArray]], title: str, unit: str) -> go.Figure:
    """A row for each set with something to show; an empty plot where none has."""
    shown = [(run, values) for run, values in items if values.any()]
    count = max(1, len(shown))
    titles = [f"{run.name}: {int(values.sum()):,} {unit}" for run, values in shown] or [" "]
    figure = make_subplots(
        rows=count,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=min(0.12, 0.5 / count),
        subplot_titles=titles,
    )
    theme.styled(figure, title=title, height=150 + ROW_HEIGHT * count)
    figure.update_annotations(x=0, xanchor="left", font={"size": theme.FONT_SIZE})
    for row, (run, values) in enumerate(shown, start=1):
        figure.add_trace(_size_bars(run, values, unit), row=row, col=1)
    figure.update_layout(margin={"t": 76}, showlegend=False)
    figure.update_xaxes(title="requests that decode in a step", row=count, col=1)
    figure.update_xaxes(rangemode="tozero")
    # One scale for all rows, so that a set that pads little looks it.
    figure.update_yaxes(title=unit, rangemode="tozero", nticks=4, matches="y")
    return figure


def _size_bars(run: Served, values: NDArray, unit: str) -> go.Bar:
    bins = size_bins(run.result.decode_steps.sizes, values)
    return go.Bar(
        x=(bins.first + bins.last) / 2,
        y=bins.sums[0],
        name=run.name,
        marker={"color": run.colour, "line": {"width": 0}},
        customdata=bins.labels,
        meta=["sizes"],
        hovertemplate=f"%{{customdata}}: %{{y:,}} {unit}<extra>%{{fullData.name}}</extra>",
    )
