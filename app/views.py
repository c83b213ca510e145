"""Small pieces that several pages draw the same way."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from app import theme
from app.traffic import Traffic


def chart(figure: go.Figure, key: str) -> None:
    """One Plotly chart, as wide as its place, with the theme's axis colours."""
    st.plotly_chart(figure, key=key, width="stretch", config=theme.CHART_CONFIG)


def traffic_caption(found: Traffic) -> None:
    st.caption(
        f"Traffic: {found.histogram.total_steps:,} steps, sizes "
        f"{int(found.histogram.sizes[0])} to {int(found.histogram.sizes[-1])} "
        f"{found.histogram.unit.value}; {found.note}."
    )


def table(rows: list[dict[str, object]], key: str) -> None:
    """A table of plain texts and numbers, one dictionary a row."""
    wide = {"why": st.column_config.TextColumn(width="large")}
    frame = pd.DataFrame(rows)
    st.dataframe(frame, hide_index=True, width="stretch", key=key, column_config=wide)
