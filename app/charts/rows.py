"""Charts of several rows over one horizontal axis, one row a bucket set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from app import theme

ROW_HEIGHT = 150


def row_axes(row: int) -> dict[str, str]:
    """The axes of a trace in a row; the first is 1, at the top."""
    number = "" if row == 1 else str(row)
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def rows_figure(
    traces: Sequence[Any], row_titles: Sequence[str], *, title: str, x_title: str, y_title: str
) -> go.Figure:
    """The traces, each with the axes of its row, in rows below each other."""
    layout = theme.layout(title, 130 + ROW_HEIGHT * len(row_titles))
    layout["margin"]["t"] = 72  # the first row's title is above the plot
    # All in one go: make_subplots() and a call a change cost a page half of its redrawing.
    return theme.unchecked(traces, layout | _rows_layout(row_titles, x_title, y_title))


def _rows_layout(row_titles: Sequence[str], x_title: str, y_title: str) -> dict[str, Any]:
    count = len(row_titles)
    gap = min(0.09, 0.5 / count)
    height = (1 - gap * (count - 1)) / count
    layout: dict[str, Any] = {"annotations": []}
    for row, text in enumerate(row_titles, start=1):
        low = (count - row) * (height + gap)
        top = 1.0 if row == 1 else low + height  # not 1.0000000000000002
        axes = row_axes(row)
        x_axis: dict[str, Any] = theme.AXIS | {"anchor": axes["yaxis"], "domain": [0.0, 1.0]}
        if row == count:
            x_axis["title"] = {"text": x_title}
        else:
            x_axis |= {"matches": row_axes(count)["xaxis"], "showticklabels": False}
        layout[_layout_name(axes["xaxis"])] = x_axis
        layout[_layout_name(axes["yaxis"])] = theme.AXIS | {
            "anchor": axes["xaxis"],
            "domain": [low, top],
            "title": {"text": y_title},
            "rangemode": "tozero",
            "nticks": 4,
        }
        layout["annotations"].append(_row_title(text, top))
    return layout


def _layout_name(axis: str) -> str:
    """ "x2" -> "xaxis2"."""
    return f"{axis[0]}axis{axis[1:]}"


def _row_title(text: str, top: float) -> dict[str, Any]:
    return {
        "text": text,
        "font": {"size": theme.FONT_SIZE},
        "showarrow": False,
        **{"xref": "paper", "x": 0, "xanchor": "left"},
        **{"yref": "paper", "y": top, "yanchor": "bottom"},
    }
