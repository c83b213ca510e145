"""The numbers that a chart draws, as rows for CSV: one a point, units in the column names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.text.csv_table import csv_text

Row = dict[str, object]
PANEL, SERIES, DETAIL = "panel", "series", "detail"


def figure_rows(figure: go.Figure) -> list[Row]:
    """Every point that is drawn, trace by trace.

    Columns: the subplot's and the trace's name where there are several, the axes' titles, the ends
    of error bars, and a trace's customdata under the names in its `meta`.
    """
    rows: list[Row] = []
    for trace in figure.data:
        rows += _trace_rows(figure, trace)
    for column in (PANEL, SERIES):
        if len({row[column] for row in rows}) < 2:
            for row in rows:
                row.pop(column, None)
    return rows


def figure_csv(figure: go.Figure, origin: str) -> str:
    """The same as CSV, with a column that says where the numbers come from."""
    rows = [row | {"origin": origin} for row in figure_rows(figure)]
    return csv_text(list(dict.fromkeys(name for row in rows for name in row)), rows)


def title_of(figure: go.Figure) -> str:
    layout: Any = figure.layout
    return layout.title.text or ""


def _trace_rows(figure: go.Figure, trace: Any) -> Iterator[Row]:
    panel, series = _panel(figure, trace), trace.name or ""
    x_name = _axis_title(figure, "x", trace.xaxis or "x")
    y_name = _axis_title(figure, "y", trace.yaxis or "y")
    xs, ys = _listed(trace.x), _listed(trace.y)
    low, high = _error_bars(trace, ys)
    details = _details(trace)
    for i, (x, y) in enumerate(zip(xs, ys, strict=False)):
        if x is None and y is None:  # stands for a colour in the legend
            continue
        row: Row = {PANEL: panel, SERIES: series, x_name: x, y_name: y}
        if low:
            row |= {f"{y_name}, low": low[i], f"{y_name}, high": high[i]}
        yield row | (details[i] if i < len(details) else {})


def _listed(values: Any) -> list[Any]:
    if values is None:
        return []
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _panel(figure: go.Figure, trace: Any) -> str:
    """Title of the subplot that a trace is in: the note on top of its axes."""
    layout: Any = figure.layout
    x_axis, y_axis = (
        layout[f"{axis[0]}axis{axis[1:]}"] for axis in (trace.xaxis or "x", trace.yaxis or "y")
    )
    left, right = x_axis.domain or (0.0, 1.0)
    top = (y_axis.domain or (0.0, 1.0))[1]
    for note in layout.annotations:
        on_top = note.yref == "paper" and note.yanchor == "bottom" and abs(note.y - top) < 1e-6
        if on_top and note.xref == "paper" and left - 1e-6 <= note.x <= right + 1e-6:
            return note.text
    return ""


def _axis_title(figure: go.Figure, letter: str, axis: str) -> str:
    """The axis' own title, else one of the same direction: shared axes carry it once."""
    layout: Any = figure.layout
    own = layout[f"{letter}axis{axis[1:]}"].title.text
    if own:
        return own
    others: Any = figure.select_xaxes() if letter == "x" else figure.select_yaxes()
    return next((other.title.text for other in others if other.title.text), letter)


def _error_bars(trace: Any, ys: list[Any]) -> tuple[list[float], list[float]]:
    bars = trace.error_y if "error_y" in trace else None
    if bars is None or bars.array is None:
        return [], []
    minus = bars.arrayminus if bars.arrayminus is not None else bars.array
    low = [y - m for y, m in zip(ys, _listed(minus), strict=True)]
    return low, [y + p for y, p in zip(ys, _listed(bars.array), strict=True)]


def _details(trace: Any) -> list[Row]:
    """customdata by point, under the names in `meta`; what is named "" is for the screen only."""
    given = list(trace.meta) if isinstance(trace.meta, (list, tuple)) else []
    rows = []
    for item in _listed(trace.customdata):
        values = item if isinstance(item, (list, tuple)) else [item]
        more = [DETAIL if n == 0 else f"{DETAIL} {n + 1}" for n in range(len(given), len(values))]
        named = zip([*given, *more], values, strict=False)
        rows.append({name: value for name, value in named if name})
    return rows
