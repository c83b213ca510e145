"""Charts of what a bucket set does to the steps: padding, hits, and the best possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app import theme
from core.buckets import Frontier
from core.padding import PaddingReport
from core.records import BucketSet, FloatArray, StepHistogram
from core.slot_bins import SlotBins, slot_bins

ROW_HEIGHT = 150


@dataclass(frozen=True)
class SetView:
    """One bucket set as it is drawn."""

    bucket_set: BucketSet
    report: PaddingReport
    colour: str


def _rows(views: Sequence[SetView], title: str, x_title: str, y_title: str) -> go.Figure:
    """One row a set over a common horizontal axis."""
    figure = make_subplots(
        rows=len(views),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=min(0.09, 0.5 / len(views)),
        subplot_titles=[view.bucket_set.name for view in views],
    )
    theme.styled(figure, title=title, height=130 + ROW_HEIGHT * len(views))
    figure.update_layout(margin={"t": 72})  # the first row's title stands above the plot
    figure.update_annotations(x=0, xanchor="left", font={"size": theme.FONT_SIZE})
    figure.update_xaxes(title=x_title, row=len(views), col=1)
    figure.update_yaxes(title=y_title, rangemode="tozero", nticks=4)
    return figure


def padding_figure(views: Sequence[SetView], histogram: StepHistogram) -> go.Figure:
    """Useful and padded slots of the steps of each size, one row a set.

    A slot is one place in a replayed batch; a step of 5 in bucket 8 has 5 useful and 3 padded.
    """
    unit = histogram.unit.value
    figure = _rows(
        views, "Slots the steps of each size replay", f"size of the step [{unit}]", "slots"
    )
    any_eager = False
    for row, view in enumerate(views, start=1):
        bins = slot_bins(histogram, view.report)
        any_eager |= bool(bins.eager.any())
        for label, slots, colour in (
            ("useful", bins.useful, theme.USEFUL),
            ("padded", bins.padded, view.colour),
            ("eager: no graph large enough", bins.eager, theme.EAGER),
        ):
            if slots.any():
                figure.add_trace(_slot_bars(bins, slots, label, colour), row=row, col=1)
        summary = (
            f"{view.bucket_set.name}: {len(view.bucket_set)} graphs, "
            f"waste {theme.share_text(view.report.waste)}"
        )
        figure.layout.annotations[row - 1].text = summary  # pyright: ignore
    figure.update_layout(barmode="stack")
    _padding_legend(figure, views[0].colour, any_eager)
    return figure


def _slot_bars(bins: SlotBins, slots: FloatArray, label: str, colour: str) -> go.Bar:
    names = [
        f"size {a:,}" if a == b else f"sizes {a:,} to {b:,}"
        for a, b in zip(bins.first.tolist(), bins.last.tolist(), strict=True)
    ]
    return go.Bar(
        x=(bins.first + bins.last) / 2,
        y=slots,
        name=label,
        legendgroup=label,
        showlegend=False,
        marker={"color": colour, "line": {"width": 0}},
        customdata=names,
        hovertemplate=f"%{{customdata}}: %{{y:,}} {label}<extra></extra>",
    )


def _padding_legend(figure: go.Figure, colour: str, any_eager: bool) -> None:
    """Padding has each set's own colour in its row; the legend shows the first row's."""
    entries = [("useful slots", theme.USEFUL), ("padded slots (coloured)", colour)]
    if any_eager:
        entries.append(("eager: no graph large enough", theme.EAGER))
    for label, colour in entries:
        figure.add_trace(
            go.Bar(x=[None], y=[None], name=label, marker={"color": colour}, showlegend=True),
            row=1,
            col=1,
        )


def hits_figure(views: Sequence[SetView], unit: str) -> go.Figure:
    """Steps that each bucket serves; a bucket without a bar is captured for nothing."""
    figure = _rows(views, "Steps each bucket serves", f"bucket [{unit}]", "steps")
    for row, view in enumerate(views, start=1):
        sizes = np.array(view.report.capture_sizes)
        unused = view.report.hits == 0
        figure.add_trace(
            go.Bar(
                x=sizes,
                y=view.report.hits,
                marker={"color": view.colour, "line": {"width": 0}},
                hovertemplate="bucket %{x}: %{y:,} steps<extra></extra>",
                showlegend=False,
                name=view.bucket_set.name,
            ),
            row=row,
            col=1,
        )
        figure.add_trace(
            go.Scatter(
                x=sizes[unused],
                y=np.zeros(int(unused.sum())),
                mode="markers",
                marker={"symbol": "x", "color": theme.BAD, "size": 6},
                name="never used",
                legendgroup="unused",
                showlegend=row == 1,
                hovertemplate="bucket %{x}: never used<extra></extra>",
            ),
            row=row,
            col=1,
        )
    return figure


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
    figure = _rows(
        views,
        f"Time lost to padding and eager steps ({origin})",
        f"size of the step [{histogram.unit.value}]",
        "seconds",
    )
    for row, (view, lost) in enumerate(zip(views, lost_us, strict=True), start=1):
        figure.add_trace(
            go.Bar(
                x=histogram.sizes,
                y=lost / 1e6,
                marker={"color": view.colour, "line": {"width": 0}},
                hovertemplate="size %{x}: %{y:.4g} s lost<extra></extra>",
                showlegend=False,
                name=view.bucket_set.name,
            ),
            row=row,
            col=1,
        )
        summary = f"{view.bucket_set.name}: {lost.sum() / 1e6:,.3g} s in all"
        figure.layout.annotations[row - 1].text = summary  # pyright: ignore
    return figure


def frontier_figure(frontier: Frontier, views: Sequence[SetView]) -> go.Figure:
    """The least waste that K graphs can have, and where each set stands against it."""
    figure = go.Figure(
        go.Scatter(
            x=[point.k for point in frontier.points],
            y=[100 * point.waste for point in frontier.points],
            mode="lines+markers",
            line={"color": theme.NEUTRAL, "shape": "linear"},
            marker={"size": 4},
            name="best possible (exact)",
            customdata=[theme.sizes_text(point.sizes, 14) for point in frontier.points],
            hovertemplate="%{x} graphs: %{y:.2f} %<br>%{customdata}<extra>best possible</extra>",
        )
    )
    for view in views:
        figure.add_trace(
            go.Scatter(
                x=[len(view.bucket_set)],
                y=[100 * view.report.waste],
                mode="markers",
                marker={"size": 12, "color": view.colour},
                name=view.bucket_set.name,
                hovertemplate="%{x} graphs: %{y:.2f} % waste<extra>%{fullData.name}</extra>",
            )
        )
    theme.styled(figure, title="Padding against the number of graphs", height=380)
    figure.update_xaxes(title="captured graphs", rangemode="tozero")
    figure.update_yaxes(title="padded share of the slots [%]", rangemode="tozero")
    return figure
