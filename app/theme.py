"""Colours of the charts, and how microseconds, bytes, counts and shares are printed.

Colours are set trace by trace: Streamlit's theme reaches the axes of a Plotly figure, not its
traces. Each is readable on the light and the dark background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import plotly.graph_objects as go

from app.drawing.quantity import Quantity
from core.records import Origin

SET_COLOURS = (
    "#3a7bd5",  # blue
    "#d9682b",  # orange
    "#0f9d76",  # green
    "#a45ad6",  # purple
    "#c79a00",  # amber
    "#d1495b",  # red
    "#2aa3b8",  # teal
    "#8a8f98",  # grey
)
"""One a bucket set, in the order in which sets were first shown."""

USEFUL = "#9aa7a0"
EAGER = "#d1495b"
GRAPH = "#0f9d76"
NEUTRAL = "#7d8a84"
BAD = "#d1495b"
GRID = "rgba(125, 138, 132, 0.25)"

FONT_SIZE = 13
UNKNOWN = "–"
TIME_UNITS = ((1e6, 1e3, "ms"), (120e6, 1e6, "s"), (7200e6, 60e6, "min"))
AXIS = {"gridcolor": GRID, "zerolinecolor": GRID, "automargin": True}
CHART_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}


def layout(title: str, height: int = 380) -> dict[str, Any]:
    """The shared layout: title at the left, legend at the bottom, room for labels.

    The background is the page's own, which a saved picture then has too: on a transparent one the
    light text of the dark theme would be lost on paper.
    """
    return {
        "title": {
            "text": title,
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 8},
            "font": {"size": FONT_SIZE + 2},
        },
        "height": height,
        "font": {"size": FONT_SIZE},
        "margin": {"l": 8, "r": 8, "t": 48, "b": 8},
        # Below the plot: above it a long legend would run into the title on a phone.
        "legend": {
            "orientation": "h",
            "yref": "container",
            "yanchor": "bottom",
            "y": 0,
            "xanchor": "left",
            "x": 0,
        },
        "hoverlabel": {"namelength": -1},
        "bargap": 0.08,
    }


def drawn(
    traces: Sequence[Any],
    *,
    title: str,
    x_axis: Mapping[str, Any],
    y_axis: Mapping[str, Any],
    height: int = 380,
) -> go.Figure:
    """A chart of one plot, made in one go: every later change costs as much as a trace.

    traces : figure objects, or plain dictionaries with their "type", which are quicker
    """
    axes = {"xaxis": AXIS | dict(x_axis), "yaxis": AXIS | dict(y_axis)}
    return unchecked(traces, layout(title, height) | axes)


def unchecked(traces: Sequence[Any], described: Mapping[str, Any]) -> go.Figure:
    """A figure of traces and a layout in Plotly's own words, without Plotly's look at each.

    The look takes four times as long as the rest of the figure, and tests take it instead.
    """
    return go.Figure(data=list(traces), layout=dict(described), _validate=False)


def styled(figure: go.Figure, *, title: str, height: int = 380) -> go.Figure:
    """The shared layout and quiet grids, for a figure that is there already."""
    # Set one by one: update_layout() takes several times as long.
    for name, value in layout(title, height).items():
        figure.layout[name] = value  # pyright: ignore[reportIndexIssue]
    for axis in chain(figure.select_xaxes(), figure.select_yaxes()):
        for name, value in AXIS.items():
            axis[name] = value
    return figure


def count_text(value: float) -> Quantity:
    """1234567 -> '1,234,567'."""
    return Quantity(f"{value:,.0f}", value)


def share_text(share: float | None) -> Quantity:
    """0.19047 -> '19.0 %'; None -> '–'."""
    if share is None:
        return Quantity(UNKNOWN, None, "%")
    percent = 100 * share
    text = f"{percent:.2f} %" if 0 < percent < 1 else f"{percent:.1f} %"
    return Quantity(text, percent, "%")


def us_text(us: float | None) -> Quantity:
    """Microseconds in the unit that reads best."""
    return Quantity(_time_text(us), us, "us")


def seconds_text(seconds: float | None) -> Quantity:
    return Quantity(_time_text(None if seconds is None else seconds * 1e6), seconds, "s")


def ms_text(ms: float | None) -> Quantity:
    return Quantity(_time_text(None if ms is None else ms * 1e3), ms, "ms")


def _time_text(us: float | None) -> str:
    if us is None:
        return UNKNOWN
    size = abs(us)
    if size < 1000:
        return f"{us:.0f} µs" if size >= 10 or us == int(us) else f"{us:.2g} µs"
    for below, factor, unit in TIME_UNITS:
        if size < below:
            digits = 2 if factor <= 1e6 else 1
            return f"{us / factor:.{digits}f} {unit}"
    return f"{us / 3600e6:.1f} h"


def bytes_text(num_bytes: float | None) -> Quantity:
    """Binary units: GiB is 2**30 bytes."""
    return Quantity(_bytes_text(num_bytes), num_bytes, "bytes")


def _bytes_text(num_bytes: float | None) -> str:
    if num_bytes is None:
        return UNKNOWN
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(num_bytes) >= factor:
            return f"{num_bytes / factor:.2f} {unit}"
    return f"{num_bytes:.0f} B"


def sizes_text(sizes: tuple[int, ...], limit: int = 12) -> str:
    """'1, 2, 4, … 512 (51 sizes)' when long."""
    if len(sizes) <= limit:
        return ", ".join(map(str, sizes))
    head = ", ".join(map(str, sizes[: limit - 2]))
    return f"{head}, … {sizes[-1]} ({len(sizes)} sizes)"


def origin_text(origin: Origin, source: str) -> str:
    """'Measured: card, model, date'; the word is not said twice."""
    word = origin.value.capitalize()
    rest = source.removeprefix(f"{origin.value}:").strip()
    return f"{word}: {rest}"
