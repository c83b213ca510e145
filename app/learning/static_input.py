"""Lesson 2: the static input, and what an alias and a clone hold."""

from __future__ import annotations

import streamlit as st

from app import theme
from app.drawing.views import chart
from app.learning.figures import grouped_figure
from app.learning.parts import answered, derivation_view, guess, metrics, number, switch
from core.lab.static_input import two_replays, warm_up_outcomes

TITLE = "Static input: fill, replay, clone"
CODE = """x = zeros(1)                     # static input: its address never changes
side.wait_stream(current)        # warm up on a side stream, with both waits
with stream(side): f(x)
current.wait_stream(side)
with capture() as graph: a = f(x)   # f(x) = x * x + 1
x.fill_({first:g}); graph.replay(); b = a.clone()
x.fill_({second:g}); graph.replay()"""


def show() -> None:
    left, right = st.columns(2)
    with left:
        first = number("first input", "learn_first", 3.0, -1000.0, 1000.0)
    with right:
        second = number("second input", "learn_second", 4.0, -1000.0, 1000.0)
    st.code(CODE.format(first=first, second=second), language="python")
    found = two_replays(first, second)
    st.markdown("**Two replays: what do `a` and `b` hold?**")
    left, right = st.columns(2)
    with left:
        a = guess("a holds", "learn_guess_a")
    with right:
        b = guess("b holds", "learn_guess_b")
    if answered("learn_replays", {"a": a, "b": b}, {"a": found.alias, "b": found.clone}):
        metrics({"a, the alias": f"{found.alias:g}", "b, the clone": f"{found.clone:g}"})
        figure = grouped_figure(
            "What the two names hold",
            ["after replay 1", "after replay 2"],
            {
                "a: the graph's output": [found.clone, found.alias],
                "b: a clone of it": [found.clone, found.clone],
            },
            [theme.GRAPH, theme.SET_COLOURS[0]],
            "value",
        )
        chart(figure, "learn_two_replays")
        derivation_view(found.derivation)
    _warm_up(first, second)


def _warm_up(first: float, second: float) -> None:
    st.markdown(
        "**The two waits around the warm-up.** It runs beside other work: leave a wait out, and "
        "every order that the streams then allow is run."
    )
    left, right = st.columns(2)
    with left:
        before = switch("side waits for current", "learn_wait_before", True)
    with right:
        after = switch("current waits for side", "learn_wait_after", True)
    found = warm_up_outcomes(before, after, first, second)
    texts = [
        f"{value:g} in {n} of {sum(found.outcomes.values())} orders"
        for value, n in found.outcomes.items()
    ]
    line = f"f({first:g}) on the side stream gives {', '.join(texts)}; right is {found.right:g}."
    (st.success if found.safe else st.error)(line)
