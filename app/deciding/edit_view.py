"""A chart whose bars are clicked to add buckets to the user's own list, or take them out."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from app import compute, state
from app.drawing.views import clickable_chart
from app.inputs import sets as inputs
from app.inputs.memory import pool_policy
from app.inputs.parsing import parse_sizes
from core.errors import ProjectError
from core.records import BucketSet, StepHistogram


def show_editable(
    figure: go.Figure, histogram: StepHistogram, view: compute.CostView, origin: str
) -> None:
    """Draw the chart; a click on a bar edits 'My list', and a sentence says what it did."""
    points = clickable_chart(figure, "padding", origin)
    inputs.toggle_own(round(float(points[0]["x"])) if points else None)
    st.caption("Click a bar to add that size to 'My list', or to take it out.")
    sentence = _what_changed(histogram, view)
    if sentence:
        st.markdown(f"**My list**: {sentence}")


def _what_changed(histogram: StepHistogram, view: compute.CostView) -> str | None:
    """The last edit of the user's own list in words; None without one."""
    values = state.session().values
    text, before = inputs.own_sizes(), values.get("own_before")
    if text == values.get("own_seen"):
        return values.get("own_sentence")
    values["own_before"] = values.get("own_seen")
    values["own_seen"] = text
    before = values["own_before"]
    if not before:
        return None
    try:
        old = BucketSet("My list", parse_sizes(str(before)))
        new = BucketSet("My list", parse_sizes(text))
        sentence = compute.change(histogram, old, new, view.cost, view.memory, pool_policy())
    except ProjectError:
        sentence = None  # the list is being typed; its own warning says what is wrong with it
    values["own_sentence"] = sentence
    return sentence
