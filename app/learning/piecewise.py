"""Lesson 11: piecewise graphs."""

from __future__ import annotations

import streamlit as st

from app import theme
from app.drawing.views import chart, table
from app.learning.figures import grouped_figure, line_figure
from app.learning.parts import derivation_view, metrics, number
from core.lab.piecewise import piecewise
from core.speed import piecewise_overhead

TITLE = "Piecewise graphs"


def show() -> None:
    st.markdown(
        "A part of the step decides in Python, from step to step. Capture the stable segments, run "
        "the decision between them: it is followed, and each piece is one more launch."
    )
    columns = st.columns(3)
    with columns[0]:
        segments = int(number("segments", "learn_segments", 3, 1, 100))
    with columns[1]:
        us_per_piece = number("a boundary [µs]", "learn_boundary", 12.0, 0.0, 1000.0)
    with columns[2]:
        step_ms = number("the step [ms]", "learn_step_ms", 20.0, 0.1, 1000.0)
    found = piecewise(segments, us_per_piece=us_per_piece, step_ms=step_ms)
    figure = grouped_figure(
        "Launches that the host submits for one step",
        ["eager", "one full graph", "pieces"],
        {"launches": [found.eager_launches, found.full_launches, found.piecewise_launches]},
        [theme.SET_COLOURS[0]],
        "launches",
    )
    chart(figure, "learn_launches")
    table(
        [
            {
                "decision": f"{r.choice:g}",
                "eager": f"{r.eager:g}",
                "full graph": f"{r.full:g}",
                "pieces": f"{r.piecewise:g}",
                "full graph is": "right" if r.full == r.eager else "wrong: decision frozen",
            }
            for r in found.rounds
        ],
        "learn_pieces",
    )
    metrics(
        {
            "boundaries, a step": f"{found.overhead.extra_ms:.3g} ms",
            "share of the step": theme.share_text(found.overhead.share),
        }
    )
    counts = sorted({1, 2, 4, 8, 16, 32, 48, 64, 80, 96, segments})
    shares = [100 * piecewise_overhead(n, us_per_piece, step_ms).share for n in counts]
    line = line_figure(
        "More pieces, more boundaries",
        counts,
        shares,
        {"yours": (segments, 100 * found.overhead.share)},
        "pieces",
        "share of the step [%]",
    )
    chart(line, "learn_boundaries")
    derivation_view(found.derivation)
