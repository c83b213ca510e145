"""Charts that are made without Plotly's checks would pass them."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from app import theme
from app.charts.padding import (
    SetView,
    cumulative_figure,
    frontier_figure,
    hits_figure,
    lost_time_figure,
    padding_figure,
)
from core.buckets import frontier
from core.padding import padding_report
from core.records import BucketSet, StepHistogram

STEPS = StepHistogram(np.arange(1, 41), np.arange(40, 0, -1))
SETS = (BucketSet("small", (1, 2, 4)), BucketSet("powers", (1, 2, 4, 8, 16, 32, 64)))
VIEWS = [
    SetView(item, padding_report(STEPS, item.sizes), colour)
    for item, colour in zip(SETS, theme.SET_COLOURS, strict=False)
]
LOST = [np.linspace(0, 1e6, len(STEPS.sizes))] * len(SETS)
CHARTS = {
    "padding": lambda: padding_figure(VIEWS, STEPS),
    "hits": lambda: hits_figure(VIEWS, "requests"),
    "covered": lambda: cumulative_figure(VIEWS, STEPS),
    "lost time": lambda: lost_time_figure(VIEWS, STEPS, LOST, "assumed"),
    "frontier": lambda: frontier_figure(frontier(STEPS, max_graphs=8), VIEWS),
}


@pytest.mark.parametrize("name", CHARTS)
def test_plotly_accepts_it_as_it_is(name: str):
    """Every property exists and has a value that Plotly allows; checking it changes nothing."""
    made = CHARTS[name]()
    checked = go.Figure(made.to_dict())
    assert json.loads(made.to_json()) == json.loads(checked.to_json())
    assert len(made.data) > 0


def test_a_wrong_property_would_be_found():
    """The check of the test above is one: without it a misspelt property goes unnoticed."""
    made = theme.unchecked([{"type": "bar", "y": [1], "colour": "red"}], theme.layout("t"))
    with pytest.raises(ValueError, match="colour"):
        go.Figure(made.to_dict())
