"""Names from outside in a chart, shown as they are written.

Plotly reads <b>, <a href> and entities in names, titles and hover texts as markup.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.plain_text import plain_line

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
    if not any(True for _ in _marked(figure)):
        return figure
    safe = go.Figure(figure)
    for owner, name in list(_marked(safe)):
        value = owner[name]
        owner[name] = literal(value) if isinstance(value, str) else _literal_values(value)
    return safe


def _marked(figure: go.Figure) -> Iterator[tuple[Any, str]]:
    """Where markup stands: an object of the figure, and the name of its attribute."""
    owners: list[tuple[Any, str]] = [
        (trace, name) for trace in figure.data for name in TRACE_TEXTS if name in trace
    ]
    owners += [(figure.layout.title, "text")]
    owners += [(note, "text") for note in figure.layout.annotations]
    owners += [(axis.title, "text") for axis in (*figure.select_xaxes(), *figure.select_yaxes())]
    for owner, name in owners:
        if owner[name] is not None and _holds_markup(owner[name]):
            yield owner, name


def _speaks(text: str) -> bool:
    return any(sign in text for sign in "<>&") or not text.isprintable()


def _holds_markup(values: Any) -> bool:
    if isinstance(values, str):
        return _speaks(values)
    if not _nested(values) or (isinstance(values, np.ndarray) and values.dtype.kind in "iufb"):
        return False
    return any(_holds_markup(value) for value in values)


def _nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _literal_values(values: Any) -> list[Any]:
    return [_literal_value(value) for value in values]


def _literal_value(value: Any) -> Any:
    if isinstance(value, str):
        return literal(value)
    return _literal_values(value) if _nested(value) else value
