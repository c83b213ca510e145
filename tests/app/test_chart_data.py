"""What charts and tables give to keep: CSV of the numbers drawn, and names shown as written."""

from __future__ import annotations

import csv
import io

import numpy as np
import plotly.graph_objects as go
import pytest

from app import theme
from app.charts.figure_data import figure_csv, figure_rows
from app.charts.literal import literal, literal_figure
from app.charts.measured import step_time_figure
from app.charts.padding import SetView, padding_figure
from app.charts.trade_off import trade_off_figure
from app.drawing.quantity import Quantity
from app.drawing.table_data import rows_csv
from core.choice.trade_off import trade_off
from core.padding import padding_report
from core.records import BucketSet, MeasureRow, PoolPolicy, StepHistogram
from core.step_cost import assumed_graph_memory, assumed_step_cost

BATCHES = StepHistogram.from_mapping({1: 1, 3: 1, 5: 1, 8: 1})


def read_back(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def view(name: str, sizes: tuple[int, ...]) -> SetView:
    return SetView(BucketSet(name, sizes), padding_report(BATCHES, sizes), "#3a7bd5")


def test_the_csv_of_a_chart_holds_what_is_drawn():
    """Sizes 1, 3, 5, 8 on 1, 2, 4, 8 pad 0, 1, 3, 0 slots; on 1, 2, 4, 5, 8 none but 3's one."""
    figure = padding_figure([view("a", (1, 2, 4, 8)), view("b", (1, 2, 4, 5, 8))], BATCHES)
    rows = read_back(figure_csv(figure, "measured"))
    size = "size of the step [requests]"
    padded = [
        (row["panel"][0], float(row[size]), float(row["slots"]))
        for row in rows
        if row["series"] == "padded"
    ]
    first = [("a", 1, 0), ("a", 3, 1), ("a", 5, 3), ("a", 8, 0)]
    assert padded == first + [("b", 1, 0), ("b", 3, 1), ("b", 5, 0), ("b", 8, 0)]
    assert {row["origin"] for row in rows} == {"measured"}


def test_error_bars_and_samples_are_kept():
    """Median, quartiles and the number of samples of a measured step."""
    row = MeasureRow(4, eager_us=2000.0, eager_q1_us=1900.0, eager_q3_us=2500.0, samples=30)
    (found,) = figure_rows(step_time_figure([row], "a card"))
    y = "median step time [ms]"
    assert found["size of the step [requests]"] == 4
    assert (found[y], found[f"{y}, low"], found[f"{y}, high"]) == pytest.approx((2.0, 1.9, 2.5))
    assert found["samples"] == 30


def test_the_lists_behind_points_are_named():
    """A point of the trade-off comes with its graphs and sizes, not as "detail 4"."""
    memory = assumed_graph_memory()
    trade = trade_off(BATCHES, assumed_step_cost(), memory, PoolPolicy.PRIVATE)
    rows = figure_rows(trade_off_figure(trade, {}, "graph memory"))
    assert rows[0]["sizes"] == ", ".join(map(str, trade.best[0].sizes))
    assert rows[0]["graph memory [MiB]"] == pytest.approx(trade.best[0].graph_bytes / 2**20)
    assert int(str(rows[0]["graphs"])) == trade.best[0].num_graphs


def test_a_legend_entry_is_no_point():
    """Bars that only stand for a colour hold no number."""
    figure = padding_figure([view("a", (8,))], BATCHES)
    assert len([t for t in figure.data if t.x[0] is None]) == 2
    assert len(figure_rows(figure)) == 8  # four sizes, useful and padded


def test_table_numbers_come_with_their_unit():
    """The header carries the unit, the cell the number that was printed, a dash nothing."""
    rows = [
        {"set": "a", "step": theme.us_text(1234.5), "waste": theme.share_text(0.25)},
        {"set": "=b", "step": theme.us_text(None), "waste": theme.share_text(0.5)},
    ]
    assert rows[0]["step"] == "1.23 ms"
    found = rows_csv(rows, "assumed")
    assert found == "set,step [us],waste [%],origin\na,1234.5,25,assumed\n'=b,,50,assumed\n"


def test_a_column_of_several_units_keeps_its_texts():
    """Where rows differ in unit, no header could say it: each cell does."""
    rows = [{"fact": "time", "value": theme.ms_text(2.0)}, {"fact": "n", "value": Quantity("3", 3)}]
    assert rows_csv(rows) == "fact,value\ntime,2.00 ms\nn,3\n"


@pytest.mark.parametrize(
    ("printed", "value", "unit"),
    [
        (theme.count_text(1234567), 1234567, ""),
        (theme.share_text(0.19047), 19.047, "%"),
        (theme.seconds_text(2.0), 2.0, "s"),
        (theme.ms_text(0.5), 0.5, "ms"),
        (theme.bytes_text(2**21), 2**21, "bytes"),
    ],
)
def test_a_printed_number_knows_its_value(printed, value, unit):
    """The text rounds, the value does not."""
    assert printed.value == pytest.approx(value)
    assert printed.unit == unit


HOSTILE = '<b>x</b> & <a href="http://evil">\x1b[31m'


def test_names_are_drawn_as_written():
    """Plotly would read <b> and <a href>; entities make it draw the signs."""
    figure = go.Figure(go.Bar(x=[HOSTILE, "b"], y=[1, 2], name=HOSTILE, customdata=[[HOSTILE, 1]]))
    figure.update_layout(title=f"measured on {HOSTILE}")
    figure.update_xaxes(title=HOSTILE)
    figure.add_annotation(text=HOSTILE)
    safe = literal_figure(figure)
    text = safe.to_json()
    assert "<b>" not in text and "<a " not in text and "\\u001b" not in text
    assert safe.data[0].name == '&lt;b&gt;x&lt;/b&gt; &amp; &lt;a href="http://evil"&gt;'
    assert figure.data[0].name == HOSTILE, "the CSV is made from the figure as it was"
    header = figure_csv(figure, "").splitlines()[0]
    assert header.startswith('"<b>x</b> & <a href=""http://evil"">"')


def test_a_figure_without_markup_is_not_copied():
    """Copying a figure takes as long as making it."""
    figure = go.Figure(go.Bar(x=np.arange(3), y=np.arange(3), name="size < is fine"))
    assert literal_figure(figure) is not figure
    figure = go.Figure(go.Bar(x=np.arange(3), y=np.arange(3), name="plain"))
    assert literal_figure(figure) is figure


def test_own_line_breaks_stay():
    """A line break is the only markup that a label of ours holds."""
    assert literal("a<br>b<i>") == "a<br>b&lt;i&gt;"
