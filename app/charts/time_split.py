"""Charts of where a step's time goes: what graphs leave, what is lost, and the step without."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from app import theme
from core.not_faster import PARTS, TimeSplit
from core.not_faster.time_split import split_bins

LABELS: Mapping[str, str] = {
    "kernels": "kernels at the true size",
    "padding": "padding to the bucket",
    "pieces": "cut into pieces",
    "copy": "inputs copied in",
    "outside": "outside of the graph",
    "fallback": "eager, beyond its kernels",
}
COLOURS: Mapping[str, str] = {
    "kernels": theme.GRAPH,
    "padding": theme.SET_COLOURS[4],
    "pieces": theme.SET_COLOURS[3],
    "copy": theme.SET_COLOURS[0],
    "outside": theme.NEUTRAL,
    "fallback": theme.EAGER,
}
WITHOUT, WITH = "without graphs", "with your graphs"


def mean_split_figure(split: TimeSplit) -> go.Figure:
    """The mean step over the traffic, eager beside replayed, in parts."""
    shared = split.mean("kernels"), split.mean("outside")
    eager = {"kernels": shared[0], "outside": shared[1]}
    eager["fallback"] = split.mean("eager") - sum(shared)
    figure = go.Figure()
    for name in PARTS:
        values = [eager.get(name, 0.0), split.mean(name)]
        if any(values):
            label = LABELS[name]
            figure.add_trace(
                go.Bar(
                    y=[WITHOUT, WITH],
                    x=[us / 1e3 for us in values],
                    orientation="h",
                    name=label,
                    marker={"color": COLOURS[name]},
                    hovertemplate=f"%{{y}}: %{{x:.4g}} ms {label}<extra></extra>",
                )
            )
    theme.styled(figure, title=f"The mean step ({split.origin.value})", height=240)
    figure.update_layout(barmode="stack")
    figure.update_xaxes(title="time of a step [ms]", rangemode="tozero")
    figure.update_yaxes(autorange="reversed")
    return figure


def size_split_figure(split: TimeSplit, unit: str) -> go.Figure:
    """The steps of each size in parts, and what the same step takes eagerly."""
    bins = split_bins(split)
    middle = (bins.first + bins.last) / 2
    details = [
        [name, int(steps)] for name, steps in zip(bins.labels, bins.steps.tolist(), strict=True)
    ]
    figure = go.Figure()
    for name, values in bins.parts.items():
        figure.add_trace(
            go.Bar(
                x=middle,
                y=values / 1e3,
                name=LABELS[name],
                marker={"color": COLOURS[name], "line": {"width": 0}},
                customdata=details,
                meta=["sizes", "steps"],
                hovertemplate="%{customdata[0]}, %{customdata[1]:,} steps: %{y:.4g} ms "
                f"{LABELS[name]}<extra></extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=middle,
            y=bins.eager_us / 1e3,
            mode="lines+markers",
            line={"color": theme.EAGER, "dash": "dot", "width": 1},
            marker={"color": theme.EAGER, "size": 5},
            name="the same step, eager",
            customdata=details,
            meta=["sizes", "steps"],
            hovertemplate="%{customdata[0]}: %{y:.4g} ms eager<extra></extra>",
        )
    )
    theme.styled(figure, title=f"Where the time of a step goes ({split.origin.value})", height=400)
    figure.update_layout(barmode="stack")
    figure.update_xaxes(title=f"size of the step [{unit}]")
    figure.update_yaxes(title="mean time of a step [ms]", rangemode="tozero")
    return figure
