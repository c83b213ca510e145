"""Charts of the Learn page: results of core.lab -> figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from app import theme
from core.lab.contract import Kept
from core.lab.kv_cache import KvRun
from core.lab.two_streams import TwoStreams
from core.padding import PaddingReport

INPUT, OUTPUT, WRONG = theme.SET_COLOURS[0], theme.GRAPH, theme.BAD


def graph_figure(kept: Kept) -> go.Figure:
    """The recorded nodes in order; what each reads and writes is on the hover."""
    labels = ["x"] + [_node_label(node.name, node.parameters) for node in kept.nodes] + ["y"]
    hovers = [f"static input at {kept.input_address:#x}"]
    hovers += [
        f"reads {', '.join(f'{a:#x}' for a in node.reads)}<br>"
        f"writes {', '.join(f'{a:#x}' for a in node.writes)}"
        for node in kept.nodes
    ]
    hovers.append(f"output at {kept.nodes[-1].writes[0]:#x}")
    places = list(range(len(labels)))
    colours = [INPUT, *[theme.NEUTRAL] * len(kept.nodes), OUTPUT]
    figure = go.Figure(
        go.Scatter(
            x=places,
            y=[0] * len(places),
            mode="lines+markers+text",
            line={"color": theme.NEUTRAL, "width": 1.5},
            marker={"size": 26, "color": colours},
            text=labels,
            textposition="top center",
            hovertext=hovers,
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    )
    theme.styled(figure, title="The recorded graph: nodes, order, parameters", height=210)
    figure.update_xaxes(visible=False, range=[-0.5, len(places) - 0.5])
    figure.update_yaxes(visible=False, range=[-0.6, 1.1])
    return figure


def _node_label(name: str, parameters: Sequence[float]) -> str:
    return f"{name}<br>{', '.join(f'{p:g}' for p in parameters)}" if parameters else name


def grouped_figure(
    title: str,
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    colours: Sequence[str],
    y_title: str,
    x_title: str = "",
) -> go.Figure:
    """Bars side by side, the value on each."""
    figure = go.Figure()
    for (label, values), colour in zip(series.items(), colours, strict=True):
        figure.add_trace(
            go.Bar(
                x=list(names),
                y=list(values),
                name=label,
                marker={"color": colour, "line": {"width": 0}},
                text=[f"{value:,.4g}" for value in values],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="%{x}: %{y:,.6g}<extra>" + label + "</extra>",
                showlegend=len(series) > 1,
            )
        )
    theme.styled(figure, title=title, height=330)
    figure.update_layout(barmode="group", bargap=0.4)
    figure.update_xaxes(type="category", title=x_title)
    figure.update_yaxes(title=y_title, rangemode="tozero")
    return figure


def slots_figure(sizes: Sequence[int], report: PaddingReport) -> go.Figure:
    """Useful and padded slots of one step of each size; red where no graph holds it."""
    eager = report.bucket_by_size < 0
    figure = go.Figure()
    for label, slots, colours in (
        ("useful", sizes, [theme.EAGER if e else theme.USEFUL for e in eager]),
        ("padded", report.padded_by_size, theme.SET_COLOURS[0]),
    ):
        figure.add_trace(
            go.Bar(
                x=[str(size) for size in sizes],
                y=list(slots),
                name=label,
                marker={"color": colours, "line": {"width": 0}},
                hovertemplate="batch %{x}: %{y:,} slots<extra>" + label + "</extra>",
            )
        )
    theme.styled(figure, title="Slots that each step replays", height=320)
    figure.update_layout(barmode="stack", bargap=0.4)
    figure.update_xaxes(title="batch [requests]", type="category")
    figure.update_yaxes(title="slots", rangemode="tozero")
    return figure


def kv_figure(run: KvRun) -> go.Figure:
    """Who owns each slot after each step; results that differ from eager are crossed."""
    names = sorted({row.request for step in run.steps for row in step.rows})
    steps = [step.step for step in run.steps]
    slots = list(range(len(run.steps[0].cache)))
    figure = go.Figure()
    for index, name in enumerate(names):
        own = [(s.step, slot) for s in run.steps for slot in slots if s.owners[slot] == name]
        values = [run.steps[step].cache[slot] for step, slot in own]
        figure.add_trace(
            go.Scatter(
                x=[step for step, _ in own],
                y=[slot for _, slot in own],
                mode="markers",
                marker={
                    "symbol": "square",
                    "size": 13,
                    "color": theme.SET_COLOURS[index % len(theme.SET_COLOURS)],
                },
                name=f"request {name}",
                customdata=values,
                hovertemplate=(
                    f"step %{{x}}, slot %{{y}}: request {name}, holds %{{customdata:g}}"
                    "<extra></extra>"
                ),
            )
        )
    wrong = [s.step for s in run.steps if s.wrong]
    figure.add_trace(
        go.Scatter(
            x=wrong,
            y=[-1] * len(wrong),
            mode="markers",
            marker={"symbol": "x", "size": 11, "color": WRONG},
            name="a result differs from eager",
            hovertext=[", ".join(s.wrong) for s in run.steps if s.wrong],
            hovertemplate="step %{x}: request %{hovertext} is wrong<extra></extra>",
        )
    )
    theme.styled(figure, title="Slots of the KV cache by owner", height=470)
    figure.update_layout(margin={"t": 96})
    figure.update_xaxes(title="decode step", dtick=1, range=[-0.5, steps[-1] + 0.5])
    figure.update_yaxes(title="slot", dtick=2, range=[-1.8, slots[-1] + 0.7])
    return figure


def streams_figure(found: TwoStreams) -> go.Figure:
    """What each stream does when; red where a copy meets a replay of its own buffer."""
    figure = go.Figure()
    kinds = (("copy", INPUT), ("replay", OUTPUT))
    for name, colour in kinds:
        spans = [span for span in found.spans if span.stream == name]
        figure.add_trace(
            go.Bar(
                base=[span.start_us for span in spans],
                x=[span.end_us - span.start_us for span in spans],
                y=[f"{name} stream"] * len(spans),
                orientation="h",
                width=0.55,
                marker={
                    "color": [WRONG if span.clash else colour for span in spans],
                    "line": {"width": 1, "color": "rgba(255, 255, 255, 0.7)"},
                },
                text=[str(span.step) for span in spans],
                textposition="inside",
                insidetextanchor="middle",
                customdata=[(s.step, s.buffer, s.start_us, s.end_us) for s in spans],
                hovertemplate=(
                    f"{name} of step %{{customdata[0]}}, buffer %{{customdata[1]}}: "
                    "%{customdata[2]:g} to %{customdata[3]:g} µs<extra></extra>"
                ),
                showlegend=False,
            )
        )
    theme.styled(figure, title="Copy and replay in time, by step", height=240)
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(title="time [µs], assumed durations", rangemode="tozero")
    figure.update_yaxes(autorange="reversed")
    return figure


def line_figure(
    title: str,
    x: Sequence[float],
    y: Sequence[float],
    marks: Mapping[str, tuple[float, float]],
    x_title: str,
    y_title: str,
) -> go.Figure:
    """A curve over whole numbers; the legend tells the values of its named points."""
    figure = go.Figure(
        go.Scatter(
            x=list(x),
            y=list(y),
            mode="lines+markers",
            line={"color": theme.NEUTRAL, "width": 2},
            marker={"size": 5},
            showlegend=False,
            hovertemplate="%{x:g}: %{y:,.6g}<extra></extra>",
        )
    )
    for (label, (at, value)), colour in zip(marks.items(), theme.SET_COLOURS, strict=False):
        figure.add_trace(
            go.Scatter(
                x=[at],
                y=[value],
                mode="markers",
                marker={"size": 12, "color": colour},
                name=f"{label}: {value:,.3g}",
                hovertemplate="%{x:g}: %{y:,.6g}<extra>" + label + "</extra>",
            )
        )
    theme.styled(figure, title=title, height=340)
    figure.update_xaxes(title=x_title, rangemode="tozero")
    figure.update_yaxes(title=y_title, rangemode="tozero")
    return figure


def hits_figure(sizes: Sequence[int], hits: Sequence[int], rare: int, unit: str) -> go.Figure:
    """Steps that each used bucket serves, the rarest one marked."""
    figure = go.Figure(
        go.Bar(
            x=[str(size) for size in sizes],
            y=list(hits),
            marker={"color": [INPUT if size == rare else theme.USEFUL for size in sizes]},
            hovertemplate="bucket %{x}: %{y:,} steps<extra></extra>",
        )
    )
    theme.styled(figure, title="Steps of each used bucket, the rarest in blue", height=320)
    figure.update_layout(bargap=0.4)
    figure.update_xaxes(title=f"bucket [{unit}]", type="category")
    figure.update_yaxes(title="steps", type="log", dtick=1)
    return figure
