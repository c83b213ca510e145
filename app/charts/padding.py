"""Charts of what a bucket set does to the steps: padding, hits, and the best possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app import theme
from app.charts.rows import row_axes, rows_figure
from core.buckets import Frontier
from core.padding import PaddingReport
from core.records import BucketSet, FloatArray, StepHistogram
from core.slot_bins import SlotBins, slot_bins
from core.text.counting import counted


@dataclass(frozen=True)
class SetView:
    """One bucket set as it is drawn."""

    bucket_set: BucketSet
    report: PaddingReport
    colour: str


def padding_figure(views: Sequence[SetView], histogram: StepHistogram) -> go.Figure:
    """Useful and padded slots of the steps of each size, one row a set.

    A slot is one place in a replayed batch; a step of 5 in bucket 8 has 5 useful and 3 padded.
    """
    traces, any_eager = [], False
    for row, view in enumerate(views, start=1):
        bins = slot_bins(histogram, view.report)
        any_eager |= bool(bins.eager.any())
        names = _bin_names(bins)
        for label, slots, colour in (
            ("useful", bins.useful, theme.USEFUL),
            ("padded", bins.padded, view.colour),
            ("eager: no graph large enough", bins.eager, theme.EAGER),
        ):
            if slots.any():
                x = (bins.first + bins.last) / 2
                traces.append(_slot_bars(x, slots, names, label, colour) | row_axes(row))
    figure = rows_figure(
        [*traces, *_padding_legend(views[0].colour, any_eager)],
        [
            f"{view.bucket_set.name}: {counted(len(view.bucket_set), 'graphs')}, "
            f"waste {theme.share_text(view.report.waste)}"
            for view in views
        ],
        title="Slots the steps of each size replay",
        x_title=f"size of the step [{histogram.unit.value}]",
        y_title="slots",
    )
    figure.layout.barmode = "stack"  # pyright: ignore
    return figure


def _bin_names(bins: SlotBins) -> list[str]:
    return [
        f"size {a:,}" if a == b else f"sizes {a:,} to {b:,}"
        for a, b in zip(bins.first.tolist(), bins.last.tolist(), strict=True)
    ]


def _slot_bars(
    x: FloatArray, slots: FloatArray, names: list[str], label: str, colour: str
) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": x,
        "y": slots,
        "name": label,
        "legendgroup": label,
        "showlegend": False,
        "marker": {"color": colour, "line": {"width": 0}},
        "customdata": names,
        "hovertemplate": f"%{{customdata}}: %{{y:,}} {label}<extra></extra>",
    }


def _padding_legend(colour: str, any_eager: bool) -> list[dict[str, Any]]:
    """Padding has each set's own colour in its row; the legend shows the first row's."""
    entries = [("useful slots", theme.USEFUL), ("padded slots (coloured)", colour)]
    if any_eager:
        entries.append(("eager: no graph large enough", theme.EAGER))
    return [
        {
            "type": "bar",
            "x": [None],
            "y": [None],
            "name": label,
            "marker": {"color": colour},
            "showlegend": True,
            **row_axes(1),
        }
        for label, colour in entries
    ]


def hits_figure(views: Sequence[SetView], unit: str) -> go.Figure:
    """Steps that each bucket serves; a bucket without a bar is captured for nothing."""
    traces = []
    for row, view in enumerate(views, start=1):
        sizes = np.array(view.report.capture_sizes)
        unused = sizes[view.report.hits == 0]
        traces += [
            {
                "type": "bar",
                "x": sizes,
                "y": view.report.hits,
                "marker": {"color": view.colour, "line": {"width": 0}},
                "hovertemplate": "bucket %{x}: %{y:,} steps<extra></extra>",
                "showlegend": False,
                "name": view.bucket_set.name,
                **row_axes(row),
            },
            {
                "type": "scatter",
                "x": unused,
                "y": np.zeros(len(unused)),
                "mode": "markers",
                "marker": {"symbol": "x", "color": theme.BAD, "size": 6},
                "name": "never used",
                "legendgroup": "unused",
                "showlegend": row == 1,
                "hovertemplate": "bucket %{x}: never used<extra></extra>",
                **row_axes(row),
            },
        ]
    return rows_figure(
        traces,
        [view.bucket_set.name for view in views],
        title="Steps each bucket serves",
        x_title=f"bucket [{unit}]",
        y_title="steps",
    )


def cumulative_figure(views: Sequence[SetView], histogram: StepHistogram) -> go.Figure:
    """Share of all steps up to each size, and where each set's largest graph ends."""
    share = 100 * histogram.steps.cumsum() / max(1, histogram.total_steps)
    figure = go.Figure(
        go.Scatter(
            x=histogram.sizes,
            y=share,
            mode="lines",
            line={"color": theme.NEUTRAL, "shape": "hv"},
            name="steps up to this size",
            hovertemplate="up to size %{x}: %{y:.2f} % of the steps<extra></extra>",
        )
    )
    for view in views:
        figure.add_trace(
            go.Scatter(
                x=[view.bucket_set.sizes[-1]],
                y=[100 * view.report.coverage],
                mode="markers",
                marker={"size": 12, "color": view.colour},
                name=view.bucket_set.name,
                hovertemplate="largest graph %{x}: %{y:.2f} % of the steps run a graph"
                "<extra>%{fullData.name}</extra>",
            )
        )
    theme.styled(figure, title="Steps covered: above the largest graph they run eager", height=380)
    figure.update_xaxes(title=f"size of the step [{histogram.unit.value}]", rangemode="tozero")
    figure.update_yaxes(title="share of all steps [%]", rangemode="tozero")
    return figure


def lost_time_figure(
    views: Sequence[SetView], histogram: StepHistogram, lost_us: Sequence[FloatArray], origin: str
) -> go.Figure:
    """Time the steps of each size lose against a graph of exactly that size, one row a set."""
    traces = [
        {
            "type": "bar",
            "x": histogram.sizes,
            "y": lost / 1e6,
            "marker": {"color": view.colour, "line": {"width": 0}},
            "hovertemplate": "size %{x}: %{y:.4g} s lost<extra></extra>",
            "showlegend": False,
            "name": view.bucket_set.name,
            **row_axes(row),
        }
        for row, (view, lost) in enumerate(zip(views, lost_us, strict=True), start=1)
    ]
    return rows_figure(
        traces,
        [
            f"{view.bucket_set.name}: {lost.sum() / 1e6:,.3g} s in all"
            for view, lost in zip(views, lost_us, strict=True)
        ],
        title=f"Time lost to padding and eager steps ({origin})",
        x_title=f"size of the step [{histogram.unit.value}]",
        y_title="seconds",
    )


def frontier_figure(frontier: Frontier, views: Sequence[SetView]) -> go.Figure:
    """The least waste that K graphs can have, and where each set stands against it."""
    best = {
        "type": "scatter",
        "x": [point.k for point in frontier.points],
        "y": [100 * point.waste for point in frontier.points],
        "mode": "lines+markers",
        "line": {"color": theme.NEUTRAL, "shape": "linear"},
        "marker": {"size": 4},
        "name": "best possible (exact)",
        "customdata": [
            (theme.sizes_text(point.sizes, 14), ", ".join(map(str, point.sizes)))
            for point in frontier.points
        ],
        "meta": ["", "sizes"],
        "hovertemplate": "%{x} graphs: %{y:.2f} %<br>%{customdata[0]}<extra>best possible</extra>",
    }
    marks = [
        {
            "type": "scatter",
            "x": [len(view.bucket_set)],
            "y": [100 * view.report.waste],
            "mode": "markers",
            "marker": {"size": 12, "color": view.colour},
            "name": view.bucket_set.name,
            "hovertemplate": "%{x} graphs: %{y:.2f} % waste<extra>%{fullData.name}</extra>",
        }
        for view in views
    ]
    return theme.drawn(
        [best, *marks],
        title="Padding against the number of graphs",
        x_axis={"title": {"text": "captured graphs"}, "rangemode": "tozero"},
        y_axis={"title": {"text": "padded share of the slots [%]"}, "rangemode": "tozero"},
    )
