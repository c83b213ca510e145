"""Names from outside in a chart, shown as they are written.

Plotly reads <b>, <a href> and entities in names, titles and hover texts as markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.text.plain_text import plain_line

_MARKUP = re.compile(r"[<>&\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TRACE_TEXTS = ("name", "x", "y", "customdata", "text")


def literal(text: str) -> str:
    """Markup signs as entities; Plotly draws them as the signs themselves. A line break stays."""
    lines = plain_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return lines.replace("&lt;br&gt;", "<br>")


def literal_figure(figure: go.Figure) -> go.Figure:
    """The figure with names, titles, notes, categories and customdata literal; the same one where
    they hold no markup.

    Hover templates stay: the charts write them, and they hold no text from outside.
    """
    if not _holds_markup(list(_figure_texts(figure))):
        return figure
    safe = go.Figure(figure)
    layout: Any = safe.layout
    axes: list[Any] = [*safe.select_xaxes(), *safe.select_yaxes()]
    for owner in (layout.title, *layout.annotations, *(axis.title for axis in axes)):
        if owner.text:
            owner.text = literal(owner.text)
    for trace in safe.data:
        for name in TRACE_TEXTS:
            if name in trace and _holds_markup(trace[name]):
                trace[name] = _literal_value(trace[name])
    return safe


def _figure_texts(figure: go.Figure) -> Iterator[Any]:
    """What may hold text, as it was given.

    Read from the plain dictionaries behind the figure: through its attributes, each of which is
    checked, this would take milliseconds a chart.
    """
    for trace in figure._data:  # pyright: ignore
        yield from (trace[name] for name in TRACE_TEXTS if name in trace)
    layout: Any = figure._layout  # pyright: ignore
    for name, value in layout.items():
        if name == "annotations":
            yield from (note.get("text") for note in value)
        elif isinstance(value, dict) and "title" in value:
            yield value["title"].get("text")
    yield layout.get("title", {}).get("text")


def _holds_markup(values: Any) -> bool:
    return _MARKUP.search("".join(_texts(values))) is not None


def _texts(values: Any) -> Iterator[str]:
    """Every text in nested lists; arrays of numbers are not looked through."""
    if isinstance(values, str):
        yield values
    elif _nested(values) and not (isinstance(values, np.ndarray) and values.dtype.kind in "iufb"):
        if isinstance(values, np.ndarray):
            values = values.tolist()
        for value in values:
            if isinstance(value, str):
                yield value
            elif _nested(value):
                yield from _texts(value)


def _nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _literal_value(value: Any) -> Any:
    if isinstance(value, str):
        return literal(value)
    return [_literal_value(item) for item in value] if _nested(value) else value
