"""What engines hold back for graphs, beside what the graphs take."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import compute, state, theme
from app.charts.memory import CapacityMark
from app.drawing.markdown_text import as_text
from app.drawing.views import table
from app.inputs import sets as inputs
from app.inputs.engine_choice import EngineChoice
from core.engines import ENGINES
from core.errors import ProjectError
from core.records import BucketSet, GraphMemory


def show_accounts(
    sets: Sequence[BucketSet], memory: GraphMemory, marks: Sequence[CapacityMark]
) -> None:
    """One row a set: the engine's own estimate beside the graph memory of the chosen cost."""
    st.subheader("What the engine holds back", anchor=False)
    st.caption(
        "Some engines estimate graph memory before they size the KV cache and hold that much back; "
        "others capture first and give the KV cache what is left. An estimate that is too high "
        "loses KV cache for nothing."
    )
    names = list(ENGINES)
    key = state.remember("account_engine", names[0])
    st.selectbox("Engine", names, format_func=lambda n: ENGINES[n].label, key=key)
    engine = state.keep("account_engine")
    choice = EngineChoice(engine, None, None, inputs.shared_settings(engine))
    rows: list[dict[str, object]] = []
    account = None
    for item, mark in zip(sets, marks, strict=True):
        try:
            account = compute.engine_memory(choice, item.sizes, memory)
        except ProjectError as error:
            st.warning(as_text(f"{item.name}: {error}"))
            continue
        held = account.reserved_bytes
        rows.append(
            {
                "bucket set": item.name,
                "held back": "not known" if held is None else theme.bytes_text(held),
                "graphs take": theme.bytes_text(mark.graph_bytes),
                "difference": "–" if held is None else theme.bytes_text(held - mark.graph_bytes),
            }
        )
    if account is None:
        return
    table(rows, "accounts")
    st.caption(
        f"Held back: {account.origin.value}, {account.rule} Graphs take: {memory.origin.value}. "
        f"Source: {account.source}; {account.when}."
    )
