"""Lesson 9: graphs against the KV cache, and a shared pool."""

from __future__ import annotations

import streamlit as st

from app import theme
from app.drawing.views import chart
from app.learning.figures import grouped_figure, line_figure
from app.learning.parts import derivation_view, metrics, number
from core.lab.kv_budget import kv_budget, shared_pool

TITLE = "Graphs against the KV cache"


def show() -> None:
    st.markdown("Graphs and KV share the card: what a graph takes, requests cannot have.")
    columns = st.columns(3)
    with columns[0]:
        free = number("free [GiB]", "learn_free", 8.0, 0.0, 1000.0, 0.5)
    with columns[1]:
        graph = number("a graph [GiB]", "learn_graph_gib", 0.5, 0.0, 100.0, 0.05)
    with columns[2]:
        request = number("KV a request [GiB]", "learn_request", 0.25, 0.01, 100.0, 0.05)
    found = kv_budget(free, graph, request)
    metrics(
        {
            "beside 4 graphs": f"{found.at_few} requests",
            "beside 8 graphs": f"{found.at_many} requests",
        }
    )
    figure = line_figure(
        "Requests that fit beside the graphs",
        found.num_graphs,
        found.requests,
        {"4 graphs": (4, found.at_few), "8 graphs": (8, found.at_many)},
        "graphs, in private pools",
        "requests",
    )
    chart(figure, "learn_budget")
    derivation_view(found.derivation)
    st.markdown(
        "**A shared pool.** Graphs that never replay at the same time may use the same memory, if "
        "the largest is captured first."
    )
    pools = shared_pool()
    bars = grouped_figure(
        "Four graphs (64 to 512 MiB): memory of their pools",
        ["private", "smallest first", "largest first"],
        {"pool": [pools.private, pools.smallest_first, pools.largest_first]},
        [theme.SET_COLOURS[0]],
        "memory [MiB]",
    )
    chart(bars, "learn_pools")
    derivation_view(pools.derivation, "How the pools follow")
