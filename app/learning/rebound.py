"""Lesson 3: the rebound variable."""

from __future__ import annotations

import streamlit as st

from app import theme
from app.drawing.views import chart
from app.learning.figures import grouped_figure
from app.learning.parts import derivation_view, number
from core.lab.rebound import rebound_input

TITLE = "The rebound variable"


def show() -> None:
    st.markdown(
        "After capture, `x = tensor([v])` binds the **name** to new memory. The graph kept the "
        "**pointer**. `static.copy_(x)` writes into the memory that the graph reads."
    )
    value = number("v", "learn_rebound", 3.0, -1000.0, 1000.0)
    found = rebound_input(value)
    st.code(
        f"graph reads   {found.graph_address:#x}   holds {found.read_rebound:g}\n"
        f"x points to   {found.name_address:#x}   holds {found.value:g}",
        language=None,
    )
    figure = grouped_figure(
        "x * x + 1 after the name moved",
        ["eager", "replay, rebound", "replay after copy_"],
        {"result": [found.eager, found.rebound, found.mended]},
        [theme.GRAPH],
        "result",
    )
    figure.data[0].marker.color = [  # pyright: ignore[reportAttributeAccessIssue]
        theme.NEUTRAL,
        theme.BAD if found.rebound != found.eager else theme.GRAPH,
        theme.GRAPH,
    ]
    chart(figure, "learn_rebound_chart")
    derivation_view(found.derivation)
