"""Small pieces that several pages draw the same way: charts and tables, with their data to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from app import state, theme
from app.charts.figure_data import figure_csv, title_of
from app.charts.literal import literal_figure
from app.drawing.markdown_text import as_text
from app.drawing.quantity import Quantity
from app.drawing.table_data import rows_csv
from app.workload.traffic import Traffic
from core.text.counting import counted, counted_range
from core.text.plain_text import file_stem, plain_line

PNG, SVG = "PNG", "SVG"
NO_NUMBER = ("", theme.UNKNOWN, "never")
"""What stands in a column of numbers where there is none."""
PICTURE_SCALE = 2  # pixels a point of a PNG: sharp on paper and on dense screens


def chart(figure: go.Figure, key: str, origin: str = "") -> None:
    """One Plotly chart, as wide as its place, with its numbers as CSV below.

    origin : where the numbers come from, for the CSV; the title says it where this is empty
    """
    st.plotly_chart(literal_figure(figure), key=key, width="stretch", config=_config(figure))
    _chart_csv(figure, key, origin)


def clickable_chart(figure: go.Figure, key: str, origin: str = "") -> list[dict[str, Any]]:
    """The same; returns the points that are clicked."""
    event = st.plotly_chart(
        literal_figure(figure),
        key=key,
        width="stretch",
        config=_config(figure),
        on_select="rerun",
        selection_mode="points",
    )
    _chart_csv(figure, key, origin)
    return event["selection"]["points"] if event else []


def _config(figure: go.Figure) -> dict[str, Any]:
    """What the picture button of a chart saves, and under which name."""
    picture = {
        "format": str(state.value("picture_format", PNG)).lower(),
        "filename": f"bucketwise-{file_stem(title_of(figure))}",
        "scale": PICTURE_SCALE,
    }
    return theme.CHART_CONFIG | {"toImageButtonOptions": picture}


def picture_setting() -> None:
    """Which kind of picture every chart's camera button saves."""
    st.segmented_control(
        "Pictures of charts",
        [PNG, SVG],
        key=state.remember("picture_format", PNG),
        required=True,
        help="What the camera button at the top right of each chart saves.",
    )
    state.keep("picture_format")


def _chart_csv(figure: go.Figure, key: str, origin: str) -> None:
    title = title_of(figure)
    _csv_button(key, title, lambda: figure_csv(figure, origin or title))


def table(rows: Sequence[Mapping[str, object]], key: str, origin: str = "") -> None:
    """A table of texts and numbers, one mapping a row, with its numbers as CSV below.

    Streamlit's own export is off (.streamlit/config.toml): it writes formulas as they come.
    origin : where the numbers come from, as a column of the CSV
    """
    frame = pd.DataFrame([{name: _shown(cell) for name, cell in row.items()} for row in rows])
    st.dataframe(
        frame, hide_index=True, width="stretch", key=key, column_config=_column_config(rows)
    )
    _csv_button(key, key.replace("_", " "), lambda: rows_csv(rows, origin))


def _column_config(rows: Sequence[Mapping[str, object]]) -> dict[str, Any]:
    """The first column stays in sight when a narrow screen scrolls; numbers stand to the right."""
    names = list(rows[0]) if rows else []
    return {
        name: st.column_config.Column(
            width="large" if name == "why" else None,
            pinned=name == names[0] or None,
            alignment="right" if _is_numeric([row.get(name) for row in rows]) else "left",
        )
        for name in names
    }


def _is_numeric(cells: Sequence[object]) -> bool:
    """Whether a column holds a number, and beside numbers nothing but what stands for none."""
    numbers = [isinstance(cell, (int, float, Quantity)) for cell in cells]
    return any(numbers) and all(
        is_number or cell in NO_NUMBER for is_number, cell in zip(numbers, cells, strict=True)
    )


def _shown(cell: object) -> object:
    if isinstance(cell, Quantity):
        return str(cell)
    return plain_line(cell) if isinstance(cell, str) else cell


def _csv_button(key: str, title: str, make: Callable[[], str]) -> None:
    """A small button; the CSV is made when it is pressed, not when the page is drawn."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        st.download_button(
            "CSV",
            make,
            file_name=f"bucketwise-{file_stem(title)}.csv",
            mime="text/csv",
            key=f"{key}_csv",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
        )


def traffic_caption(found: Traffic) -> None:
    steps = found.histogram
    sizes = counted_range(int(steps.sizes[0]), int(steps.sizes[-1]), steps.unit.value)
    st.caption(f"Traffic: {counted(steps.total_steps, 'steps')} of {sizes}; {as_text(found.note)}.")
