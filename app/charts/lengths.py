"""Charts of what came in: lengths of requests and sizes of steps."""

from __future__ import annotations

import plotly.graph_objects as go

from app import theme
from core.histogram import BinnedLengths, RangeCounts
from core.records import StepHistogram


def lengths_figure(binned: BinnedLengths, marks: dict[str, float], colour: str) -> go.Figure:
    """Requests by length; `marks` are labelled lengths, e.g. {"p50": 1025}."""
    width = binned.edges[1:] - binned.edges[:-1]
    unit = "share of requests" if binned.is_share else "requests"
    figure = go.Figure(
        go.Bar(
            x=binned.edges[:-1],
            y=binned.counts,
            width=width,
            offset=0,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[
                f"{int(a):,} to {int(b) - 1:,}"
                for a, b in zip(binned.edges[:-1], binned.edges[1:], strict=True)
            ],
            hovertemplate=f"%{{customdata}} tokens: %{{y:,}} {unit}<extra></extra>",
            name=binned.what,
        )
    )
    theme.styled(figure, title=f"{binned.what.capitalize()} length", height=300)
    figure.update_layout(bargap=0, showlegend=False)
    figure.update_xaxes(title=f"{binned.what} tokens a request", type="log", dtick=1)
    figure.update_yaxes(title=unit)
    for label, length in marks.items():
        if length > 0:
            figure.add_vline(x=length, line={"dash": "dot", "width": 1.5, "color": theme.NEUTRAL})
            figure.add_annotation(
                x=_log10(length), y=1, yref="paper", yanchor="bottom", text=label, showarrow=False
            )
    return figure


def _log10(value: float) -> float:
    # Plotly places annotations on a logarithmic axis by the exponent.
    from math import log10

    return log10(value)


def ranges_figure(ranges: RangeCounts, colour: str) -> go.Figure:
    """Counts of lengths known by range only: the edges are shown, nothing between them."""
    what = ranges.what.replace("_", " ")  # facts are named like "prompt" and "step_tokens"
    labels = [
        f"{low:,.0f} < tokens ≤ {high:,.0f}"
        for low, high in zip(ranges.lows, ranges.highs, strict=True)
    ]
    if ranges.is_open:
        labels[-1] = f"more than {ranges.lows[-1]:,.0f} tokens, no upper end"
    left = ranges.lows.clip(min=0.9)  # a logarithmic axis has no 0
    figure = go.Figure(
        go.Bar(
            x=left,
            y=ranges.counts,
            width=ranges.highs - left,
            offset=0,
            marker={"color": colour, "line": {"width": 1, "color": theme.GRID}},
            customdata=labels,
            hovertemplate="%{customdata}: %{y:,}<extra></extra>",
            name=what,
        )
    )
    theme.styled(figure, title=f"{what.capitalize()} by range (bounds only)", height=300)
    figure.update_layout(bargap=0, showlegend=False)
    counted = what if what.endswith("tokens") else f"{what} tokens"
    figure.update_xaxes(title=counted, type="log", dtick=1)
    figure.update_yaxes(title="count")
    return figure


def steps_figure(histogram: StepHistogram) -> go.Figure:
    """How often the engine runs a step of each size."""
    total = histogram.total_steps
    figure = go.Figure(
        go.Bar(
            x=histogram.sizes,
            y=histogram.steps,
            marker={"color": theme.SET_COLOURS[0], "line": {"width": 0}},
            customdata=histogram.steps / total if total else histogram.steps,
            meta=["share of steps"],
            hovertemplate=(
                f"%{{x}} {histogram.unit.value}: %{{y:,}} steps (%{{customdata:.2%}})"
                "<extra></extra>"
            ),
        )
    )
    title = f"Step sizes ({histogram.origin.value})"
    theme.styled(figure, title=title, height=320)
    figure.update_xaxes(title=f"size of the step [{histogram.unit.value}]")
    figure.update_yaxes(title="steps")
    return figure
