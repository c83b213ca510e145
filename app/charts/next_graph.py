"""The chart of what the next graph is worth."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app import theme
from core.buckets.worth import NextGraph


def next_graph_figure(
    graphs: Sequence[NextGraph], price: float, factor: float, unit: str, origin: str
) -> go.Figure:
    """What each further graph of the best set saves; those below the price are grey.

    price : in the frontier's unit; factor : of that unit to `unit`, which is drawn
    """
    worth = [graph.saved > price for graph in graphs]
    figure = go.Figure(
        go.Bar(
            x=[graph.k for graph in graphs],
            y=[graph.saved * factor for graph in graphs],
            marker={"color": [theme.GRAPH if w else theme.USEFUL for w in worth]},
            customdata=[
                (theme.sizes_text(graph.sizes, 14), ", ".join(map(str, graph.sizes)))
                for graph in graphs
            ],
            meta=["", "sizes"],
            name="saved",
            hovertemplate=f"graph %{{x}} saves %{{y:,.4g}} {unit}<br>best set with it: "
            "%{customdata[0]}<extra></extra>",
        )
    )
    if price > 0:
        figure.add_hline(
            y=price * factor,
            line={"dash": "dot", "color": theme.NEUTRAL},
            annotation_text="what a graph must save",
            annotation_position="top right",
        )
    title = f"What the next graph saves over this traffic ({origin})"
    theme.styled(figure, title=title, height=380)
    figure.update_xaxes(title="captured graphs, with the next one")
    figure.update_yaxes(title=f"saved by it [{unit}]", type="log")
    return figure
