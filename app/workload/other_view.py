"""How each compared set does on each traffic that the best one is chosen for."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import compute
from app.drawing.tables import traffic_rows
from app.drawing.views import table
from app.inputs import sets as inputs
from app.inputs.cost import steps_cost
from app.workload.other_traffic import OtherSteps, others
from core.records import BucketSet, StepHistogram


def other_section(histogram: StepHistogram, sets: Sequence[BucketSet], origin: str) -> None:
    """A table of every set on every traffic; nothing where there is one traffic only.

    Raises ProjectError.
    """
    more = others(histogram)
    if not more:
        return
    st.subheader("On each traffic", anchor=False)
    rows = []
    for item in (OtherSteps("this traffic", histogram), *more):
        runs = [compute.replayed(item.steps, s.sizes, inputs.engine_of(s)) for s in sets]
        cost = steps_cost(item.steps).cost
        step_us = [compute.step_us(run, cost) for run in runs]
        rows += traffic_rows(item.name, sets, [run.report for run in runs], step_us)
    table(rows, "each_traffic", origin)
    st.caption(
        "The best set is chosen for all of them together; the charts above show this traffic."
    )
