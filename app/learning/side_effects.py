"""Lesson 4: Python side effects and the frozen branch."""

from __future__ import annotations

import streamlit as st

from app import theme
from app.drawing.views import chart, table
from app.learning.figures import grouped_figure
from app.learning.parts import derivation_view, number, switch
from core.lab.side_effects import frozen_branch, side_effects

TITLE = "Frozen branch, counters, prints"
FLAGS = (True, False, True, False)


def show() -> None:
    st.markdown(
        "Python in the step runs in warm-ups and at capture, and never in a replay. A counter "
        "stands still, a print stays silent, a list does not grow."
    )
    left, right = st.columns(2)
    with left:
        warmups = int(number("warm-ups", "learn_warmups", 2, 0, 20))
    with right:
        replays = int(number("replays", "learn_replays_n", 50, 0, 500))
    found = side_effects(warmups, replays)
    figure = grouped_figure(
        "How often the step ran",
        ["expected", "counter", "prints", "list", "tensor"],
        {
            "calls": [
                found.expected,
                found.counter,
                len(found.printed),
                found.appended,
                found.device_counter,
            ]
        },
        [theme.SET_COLOURS[0]],
        "times",
    )
    chart(figure, "learn_counters")
    st.caption(
        "Expected: what one would count who takes a replay for a call. Tensor: a counter on the "
        "card, which replays do add to; the capture itself runs no kernel."
    )
    derivation_view(found.derivation)
    _branch()


def _branch() -> None:
    st.markdown("**The frozen branch**: `y = 2 * x if flag else -x`, with `x = 5`.")
    captured = switch("flag is True while capturing", "learn_flag", True)
    branches = frozen_branch(FLAGS, captured)
    table(
        [
            {
                "round": i,
                "flag": str(r.flag),
                "eager": f"{r.eager:g}",
                "one graph": f"{r.frozen:g}",
                "a graph per branch": f"{r.per_branch:g}",
                "one graph is": "right" if r.frozen == r.eager else "wrong",
            }
            for i, r in enumerate(branches.rounds, start=1)
        ],
        "learn_branches",
    )
    derivation_view(branches.derivation, "Why the branch is frozen")
