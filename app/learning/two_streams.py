"""Lesson 10: two streams, two waits, and double buffering."""

from __future__ import annotations

import streamlit as st

from app import theme
from app.drawing.views import chart
from app.learning.figures import grouped_figure, streams_figure
from app.learning.parts import derivation_view, metrics, number, switch
from core.lab.two_streams import Pipeline, TwoStreams, two_streams

TITLE = "Two streams and double buffering"


def show() -> None:
    st.markdown(
        "Copy the next input on one stream while the graph replays on another: copy, event, "
        "replay, event. Leave a wait out, and every order that is then possible is run."
    )
    columns = st.columns(3, vertical_alignment="bottom")
    with columns[0]:
        run_waits = switch("replay waits for copy", "learn_run_waits", True)
    with columns[1]:
        copy_waits = switch("copy waits for replay", "learn_copy_waits", True)
    with columns[2]:
        buffers = int(number("input buffers", "learn_buffers", 1, 1, 3))
    found = two_streams(Pipeline(buffers, run_waits, copy_waits))
    _verdict(found)
    chart(streams_figure(found), "learn_streams")
    st.caption(
        "Numbers in the bars are steps; red: a copy meets a replay that reads the same buffer. "
        "Copy 4 µs, replay 6 µs: assumed."
    )
    right = found.orders - found.wrong_orders
    bars = grouped_figure(
        "Orders of the two streams, by result",
        ["right", "wrong"],
        {"orders": [right, found.wrong_orders]},
        [theme.GRAPH],
        "orders",
    )
    bars.data[0].marker.color = [theme.GRAPH, theme.BAD]  # pyright: ignore
    chart(bars, "learn_orders")
    derivation_view(found.derivation)
    st.caption("On a card `python examples/graph_contract.py` repeats the race until it shows.")


def _verdict(found: TwoStreams) -> None:
    metrics(
        {
            "orders run": f"{found.orders:,}",
            "wrong": f"{found.wrong_orders:,}",
            "all steps done after": theme.us_text(found.makespan_us),
        }
    )
    if not found.wrong_orders:
        st.success("Every possible order gives the right results.")
        return
    example = next(result for result in found.outcomes if result != found.right)
    st.error(
        f"Right would be {_values(found.right)}; one order gives {_values(example)}. "
        "No error was raised."
    )


def _values(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)
