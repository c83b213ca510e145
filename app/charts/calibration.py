"""Charts of fitted step times beside the real ones."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app import theme
from core.calibration.calibrated import KindCheck
from core.calibration.check import SizeGroups
from core.records import StepHistogram

TITLES = {"decode": "Decode steps", "prefill": "Steps with prefill"}
UNITS = {"requests": "requests that decode in a step", "tokens": "tokens in a step"}


def step_times_figure(item: KindCheck) -> go.Figure:
    """Real and predicted step times by size, and the error below."""
    groups = item.groups
    seen = "" if item.check is None else " (steps that were not fitted)"
    figure = make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        row_heights=[0.65, 0.35],
        vertical_spacing=0.1,
        subplot_titles=(f"time of a step{seen}", "predicted / real - 1"),
    )
    figure.add_trace(_real(groups), row=1, col=1)
    figure.add_trace(_fitted(groups), row=1, col=1)
    figure.add_trace(_off(groups), row=2, col=1)
    theme.styled(figure, title=f"{TITLES[item.kind]}: real and fitted", height=520)
    figure.update_annotations(x=0, xanchor="left", font={"size": theme.FONT_SIZE})
    figure.update_layout(margin={"t": 84}, showlegend=True)
    figure.update_xaxes(title=UNITS[item.unit], row=2, col=1)
    figure.update_yaxes(title="step time [ms]", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="error [%]", zeroline=True, row=2, col=1)
    return figure


def _labels(groups: SizeGroups) -> list[tuple[str, int]]:
    return [
        (f"size {a:,}" if a == b else f"sizes {a:,} to {b:,}", steps)
        for a, b, steps in zip(
            groups.first.tolist(), groups.last.tolist(), groups.steps.tolist(), strict=True
        )
    ]


def _real(groups: SizeGroups) -> go.Scatter:
    return go.Scatter(
        x=(groups.first + groups.last) / 2,
        y=groups.real_us / 1e3,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": (groups.high_us - groups.real_us) / 1e3,
            "arrayminus": (groups.real_us - groups.low_us) / 1e3,
            "thickness": 1,
            "width": 0,
        },
        mode="markers",
        marker={"color": theme.NEUTRAL, "size": 6},
        name="real (median, quartiles)",
        customdata=_labels(groups),
        meta=["sizes", "steps"],
        hovertemplate="%{customdata[0]}: %{y:.4g} ms, %{customdata[1]:,} steps<extra>real</extra>",
    )


def _fitted(groups: SizeGroups) -> go.Scatter:
    return go.Scatter(
        x=(groups.first + groups.last) / 2,
        y=groups.fitted_us / 1e3,
        mode="lines+markers",
        line={"color": theme.GRAPH, "width": 1.5},
        marker={"size": 4},
        name="fitted",
        customdata=_labels(groups),
        meta=["sizes", "steps"],
        hovertemplate="%{customdata[0]}: %{y:.4g} ms<extra>fitted</extra>",
    )


def _off(groups: SizeGroups) -> go.Scatter:
    return go.Scatter(
        x=(groups.first + groups.last) / 2,
        y=100 * groups.off,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": 100 * (groups.off_high - groups.off),
            "arrayminus": 100 * (groups.off - groups.off_low),
            "thickness": 1,
            "width": 0,
        },
        mode="markers",
        marker={"color": theme.GRAPH, "size": 6},
        name="error",
        showlegend=False,
        customdata=_labels(groups),
        meta=["sizes", "steps"],
        hovertemplate="%{customdata[0]}: %{y:+.2f} %<extra>error</extra>",
    )


def running_figure(real: StepHistogram, simulated: StepHistogram) -> go.Figure:
    """Steps by the requests that ran in them: the recorded run and the simulated one."""
    figure = go.Figure()
    for histogram, name, colour in (
        (real, "real", theme.NEUTRAL),
        (simulated, "simulated", theme.GRAPH),
    ):
        figure.add_trace(
            go.Scatter(
                x=histogram.sizes,
                y=histogram.steps,
                mode="lines",
                line={"color": colour, "width": 1.5, "shape": "hvh"},
                name=name,
                hovertemplate="%{x} running: %{y:,} steps<extra>%{fullData.name}</extra>",
            )
        )
    theme.styled(figure, title="Running requests a step: real and simulated", height=320)
    figure.update_xaxes(title="requests running in a step", rangemode="tozero")
    figure.update_yaxes(title="steps", rangemode="tozero")
    return figure
