"""The chart of a sweep: where more graphs stop paying, load by load."""

from __future__ import annotations

import plotly.graph_objects as go

from app import theme
from core.records.sweep import Figure, Sweep

FIGURE_WORDS: dict[Figure, str] = {
    "tpot_p50_ms": "TPOT p50 [ms]",
    "tpot_p99_ms": "TPOT p99 [ms]",
    "ttft_p50_ms": "TTFT p50 [ms]",
    "ttft_p99_ms": "TTFT p99 [ms]",
    "e2e_p50_ms": "end to end p50 [ms]",
    "output_tps": "output tokens a second",
    "goodput_rps": "goodput: requests within the limits, a second",
    "makespan_s": "makespan [s]",
}


def sweep_figure(found: Sweep, figure: Figure, loads: list[float]) -> go.Figure:
    """The figure by number of graphs, one line a load; a star marks the fewest graphs within 1 %
    of the best."""
    plot = go.Figure()
    for load, colour in zip(loads, theme.SET_COLOURS, strict=False):
        rows = sorted(found.at(load), key=lambda row: row.num_graphs)
        known = [row for row in rows if getattr(row, figure) is not None]
        if not known:
            continue
        plot.add_trace(
            go.Scatter(
                x=[row.num_graphs for row in known],
                y=[getattr(row, figure) for row in known],
                customdata=[(row.name, f"{row.kv_tokens:,}") for row in known],
                meta=["bucket set", "KV tokens"],
                mode="lines+markers",
                line={"color": colour},
                name=f"load x{load:g}",
                hovertemplate="%{customdata[0]}, %{x} graphs: %{y:.4g}<br>%{customdata[1]} KV "
                "tokens<extra>%{fullData.name}</extra>",
            )
        )
        best = found.best(load, figure, within=0.01)
        plot.add_trace(
            go.Scatter(
                x=[best.num_graphs],
                y=[getattr(best, figure)],
                mode="markers",
                marker={"symbol": "star", "size": 14, "color": colour},
                name=f"fewest within 1 % at x{load:g}",
                showlegend=False,
                hovertemplate=f"{best.name}: fewest graphs within 1 % of the best<extra></extra>",
            )
        )
    theme.styled(plot, title=f"{FIGURE_WORDS[figure]} by number of graphs (estimated)", height=420)
    plot.update_xaxes(title="captured graphs", rangemode="tozero")
    plot.update_yaxes(title=FIGURE_WORDS[figure])
    return plot
