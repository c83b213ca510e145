"""Rows below each other: where each row stands, and that all share the bottom row's axis."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from app.charts.rows import row_axes, rows_figure


def bars(*rows: int) -> list[dict[str, object]]:
    return [{"type": "bar", "x": [1, 2], "y": [3, 4], **row_axes(row)} for row in rows]


def figure(count: int) -> go.Figure:
    titles = [f"set {i}" for i in range(count)]
    made = bars(*range(1, count + 1))
    return rows_figure(made, titles, title="t", x_title="size [requests]", y_title="slots")


def test_three_rows_by_hand():
    """Gaps of 0.09 leave (1 - 2 x 0.09) / 3 = 0.27333 a row; the first row is at the top."""
    layout = figure(3).layout
    assert layout.yaxis.domain == pytest.approx((0.72667, 1.0), abs=1e-5)
    assert layout.yaxis2.domain == pytest.approx((0.36333, 0.63667), abs=1e-5)
    assert layout.yaxis3.domain == pytest.approx((0.0, 0.27333), abs=1e-5)
    assert [a.text for a in layout.annotations] == ["set 0", "set 1", "set 2"]
    assert [a.y for a in layout.annotations] == [
        axis.domain[1] for axis in (layout.yaxis, layout.yaxis2, layout.yaxis3)
    ]


def test_all_rows_share_the_bottom_axis():
    """Only the bottom row shows sizes and their unit; the others follow it when zoomed."""
    layout = figure(3).layout
    assert (layout.xaxis.matches, layout.xaxis2.matches, layout.xaxis3.matches) == (
        "x3",
        "x3",
        None,
    )
    assert [a.title.text for a in (layout.xaxis, layout.xaxis2, layout.xaxis3)] == [
        *(None, None),
        "size [requests]",
    ]
    assert layout.xaxis.showticklabels is False and layout.xaxis3.showticklabels is None


@pytest.mark.parametrize("count", range(1, 25))
def test_any_number_of_rows_fits(count: int):
    """No row leaves the chart or overlaps the next, and each trace is on its own row's axes."""
    made = figure(count)
    numbers = ["" if row == 1 else str(row) for row in range(1, count + 1)]
    domains = [made.layout[f"yaxis{number}"].domain for number in numbers]
    assert domains[0][1] == 1.0 and domains[-1][0] == 0.0
    assert all(low < high for low, high in domains)
    assert all(upper[0] > lower[1] for upper, lower in zip(domains, domains[1:], strict=False))
    assert [trace.yaxis for trace in made.data] == [f"y{number}" for number in numbers]
