"""The chart of a sweep: where more graphs stop paying under each load, and what they take."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app import theme
from core.records.sweep import Figure, Sweep, SweepRow
from core.serving.answer import WITHIN

FIGURE_WORDS: dict[Figure, str] = {
    "tpot_p50_ms": "TPOT p50 [ms]",
    "tpot_p99_ms": "TPOT p99 [ms]",
    "ttft_p50_ms": "TTFT p50 [ms]",
    "ttft_p99_ms": "TTFT p99 [ms]",
    "e2e_p50_ms": "end to end p50 [ms]",
    "output_tps": "output [tokens/s]",
    "goodput_rps": "goodput [requests/s]",
    "makespan_s": "makespan [s]",
}


def sweep_figure(found: Sweep, figure: Figure, loads: Sequence[float], kv_tokens: int) -> go.Figure:
    """The figure by number of graphs, one line a load, a star at the fewest graphs within 1 % of
    the best; below, what the graphs take of the KV cache. kv_tokens : without graphs [tokens]"""
    plot = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3])
    for load, colour in zip(loads, theme.SET_COLOURS, strict=False):
        rows = sorted(found.at(load), key=lambda row: row.num_graphs)
        known = [row for row in rows if getattr(row, figure) is not None]
        if known:
            plot.add_trace(_line(known, figure, load, colour), row=1, col=1)
            best = found.best(load, figure, WITHIN)
            plot.add_trace(_star(best, figure, load, colour), row=1, col=1)
        plot.add_trace(_taken(rows, kv_tokens, load, colour), row=2, col=1)
    theme.styled(plot, title=f"{FIGURE_WORDS[figure]} by number of graphs (estimated)", height=520)
    plot.update_xaxes(rangemode="tozero")
    plot.update_xaxes(title="captured graphs", row=2, col=1)
    plot.update_yaxes(title=FIGURE_WORDS[figure], row=1, col=1)
    plot.update_yaxes(title="KV taken [tokens]", rangemode="tozero", row=2, col=1)
    return plot


def _line(rows: Sequence[SweepRow], figure: Figure, load: float, colour: str) -> go.Scatter:
    return go.Scatter(
        x=[row.num_graphs for row in rows],
        y=[getattr(row, figure) for row in rows],
        customdata=[(row.name, f"{row.preemptions:,}") for row in rows],
        mode="lines+markers",
        line={"color": colour},
        name=f"load x{load:g}",
        hovertemplate="%{customdata[0]}, %{x} graphs: %{y:.4g}<br>%{customdata[1]} preemptions"
        "<extra>%{fullData.name}</extra>",
    )


def _star(best: SweepRow, figure: Figure, load: float, colour: str) -> go.Scatter:
    return go.Scatter(
        x=[best.num_graphs],
        y=[getattr(best, figure)],
        mode="markers",
        marker={"symbol": "star", "size": 14, "color": colour},
        name=f"fewest within 1 % at x{load:g}",
        showlegend=False,
        hovertemplate=f"{best.name}: fewest graphs within 1 % of the best<extra></extra>",
    )


def _taken(rows: Sequence[SweepRow], kv_tokens: int, load: float, colour: str) -> go.Scatter:
    """One line a load, as each has sets of its own; a set that leaves nothing takes all."""
    return go.Scatter(
        x=[row.num_graphs for row in rows],
        y=[kv_tokens - row.kv_tokens for row in rows],
        customdata=[f"{row.kv_tokens:,}" for row in rows],
        mode="lines+markers",
        line={"color": colour, "dash": "dot"},
        name=f"KV cache taken at x{load:g}",
        showlegend=False,
        hovertemplate="%{x} graphs take %{y:,} KV tokens and leave %{customdata}"
        "<extra>%{fullData.name}</extra>",
    )
