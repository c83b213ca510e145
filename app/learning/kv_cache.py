"""Lesson 6: KV that grows while its storage stays."""

from __future__ import annotations

import streamlit as st

from app.drawing.views import chart, table
from app.learning.figures import kv_figure
from app.learning.parts import choice, derivation_view
from core.lab.kv_cache import KvRun, Padding, serve

TITLE = "KV cache: growing behind one graph"


def show() -> None:
    st.markdown(
        "Four requests share a cache of fixed storage. Block tables, lengths and slots change "
        "every step: they are **inputs**. The launch does not. A request that ends leaves its "
        "blocks to the next. Rows of the bucket that no request uses must touch nobody's memory."
    )
    padding = Padding(choice("Padded rows hold", [p.value for p in Padding], "learn_padding"))
    run = serve(padding)
    if run.first_wrong is None:
        st.success(f"All {len(run.steps)} steps equal eager, each from one launch of one graph.")
    else:
        wrong = ", ".join(run.steps[run.first_wrong].wrong)
        st.error(
            f"From step {run.first_wrong} on request {wrong} is wrong: a padded row wrote into its "
            "memory. No error was raised."
        )
    chart(kv_figure(run), "learn_kv")
    if run.reused:
        taken = "; ".join(f"block {block} from {a} to {b}" for block, a, b in run.reused)
        st.caption(f"Reused: {taken}. The cache lies at {run.addresses[0]:#x} in every step.")
    table(_rows(run), "learn_kv_steps")
    derivation_view(run.derivation)


def _rows(run: KvRun) -> list[dict[str, object]]:
    return [
        {
            "step": step.step,
            "request": row.request,
            "length [tokens]": row.length,
            "block table": ", ".join(map(str, row.blocks)),
            "slot written": row.slot,
            "eager": f"{row.eager:g}",
            "replay": f"{got:g}",
            "verdict": "equal" if got == row.eager else "WRONG",
        }
        for step in run.steps
        for row, got in zip(step.rows, step.replay, strict=True)
    ]
