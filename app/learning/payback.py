"""Lesson 8: net gain and break-even."""

from __future__ import annotations

import streamlit as st

from app import theme
from app.charts.break_even import cumulative_figure
from app.drawing.views import chart
from app.learning.parts import derivation_view, metrics, number
from core.break_even import cumulative_curves
from core.lab.payback import StepModel, payback

TITLE = "Net gain and break-even"


def show() -> None:
    st.markdown(
        "An eager step submits every kernel and computes the **useful** rows. A graph step submits "
        "once, computes the **bucket's** rows and copies the inputs in. Capturing costs once."
    )
    names = st.columns(4)
    with names[0]:
        bucket = int(number("bucket [requests]", "learn_bucket", 8, 1, 512))
    with names[1]:
        batch = int(number("batch [requests]", "learn_batch", 6, 1, 512))
    with names[2]:
        capture = number("capture [µs]", "learn_capture", 600.0, 0.0, 1e9, 100.0)
    with names[3]:
        submit = number("eager submit [µs]", "learn_submit", 6.0, 0.0, 1e6)
    found = payback(
        StepModel(batch=batch, bucket=bucket, capture_us=capture, eager_submit_us=submit)
    )
    even = found.even
    metrics(
        {
            "eager step": theme.us_text(found.eager_us),
            "graph step": theme.us_text(found.graph_us),
            "net gain a step": theme.us_text(found.eager_us - found.graph_us),
            "saves from step": "never" if even.saves_from is None else f"{even.saves_from:,}",
        }
    )
    curves = cumulative_curves(found.model.capture_us, found.eager_us, found.graph_us)
    chart(cumulative_figure(curves, "Time spent after so many steps"), "learn_payback")
    st.caption("All times are assumed. Try a batch of 2 in bucket 8.")
    derivation_view(found.derivation)
