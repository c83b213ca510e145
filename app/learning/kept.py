"""Lesson 1: what a graph keeps."""

from __future__ import annotations

import streamlit as st

from app.drawing.views import chart, table
from app.learning.figures import graph_figure
from app.learning.parts import derivation_view, number
from core.lab.contract import what_a_graph_keeps

TITLE = "What a graph keeps"


def show() -> None:
    st.markdown(
        "A capture records launches: which kernel, in which **order**, with which **parameters**, "
        "on which **addresses**. It keeps no Python value. Change the content of `x` and the "
        "Python number `scale`, and see which of the two the replay follows."
    )
    left, middle, right, last = st.columns(4)
    with left:
        first = number("x at capture", "learn_x", 2.0, -1000.0, 1000.0)
    with middle:
        second = number("new content of x", "learn_x_new", 5.0, -1000.0, 1000.0)
    with right:
        scale = number("scale at capture", "learn_scale", 3.0, -1000.0, 1000.0)
    with last:
        new_scale = number("new scale", "learn_scale_new", 10.0, -1000.0, 1000.0)
    kept = what_a_graph_keeps(first, second, scale, new_scale)
    chart(graph_figure(kept), "learn_graph")
    table(
        [
            {
                "changed before the replay": r.change,
                "eager": f"{r.eager:g}",
                "replay": f"{r.replay:g}",
                "verdict": "equal" if r.equal else "the replay keeps the old value",
            }
            for r in kept.rounds
        ],
        "learn_kept",
    )
    st.caption(
        f"Emulated on the CPU, really executed: an eager step is {kept.eager_launches} launches, "
        f"a replay {kept.replay_launches}. Hover over a node for the addresses it reads and writes."
    )
    derivation_view(kept.derivation)
