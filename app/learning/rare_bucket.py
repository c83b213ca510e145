"""Lesson 12: a rare bucket, judged by the session's own traffic."""

from __future__ import annotations

import streamlit as st

from app import compute, state, theme
from app.drawing.views import chart, traffic_caption
from app.inputs import sets as inputs
from app.learning.figures import hits_figure
from app.learning.parts import choice, derivation_view, metrics
from app.workload.traffic import current_traffic
from core.bucket_break_even import BucketBreakEven
from core.lab.rare_bucket import rare_bucket

TITLE = "A rare bucket: capture it at start?"


def show() -> None:
    st.markdown(
        "A bucket that few steps use costs its capture and its memory all the same. Whether its "
        "steps pay for it, your own traffic tells. Without it they would pad up to the next larger "
        "bucket, which may cost them next to nothing, or run eagerly above the largest: that is "
        "what the capture is weighed against."
    )
    traffic = current_traffic(stop=False)
    if traffic is None:
        st.info("No step sizes yet: upload a file on the Workload page, or open the example there.")
        return
    traffic_caption(traffic)
    workload = state.session().workload
    sets = inputs.chosen_sets(traffic.histogram, workload.reading.captured if workload else None)
    if not sets:
        st.info("Choose bucket sets on the Buckets page first.")
        return
    names = [bucket_set.name for bucket_set in sets]
    if state.value("learn_rare_set", names[0]) not in names:
        state.set_values({"learn_rare_set": names[0]})
    picked = sets[names.index(choice("Bucket set", names, "learn_rare_set"))]
    view = inputs.steps_cost(traffic.histogram)
    result = compute.bucket_break_even(
        traffic.histogram, picked.sizes, view.cost, engine=inputs.engine_of(picked)
    )
    source = theme.origin_text(view.cost.origin, view.cost.source)
    found = rare_bucket(result, f"{source}; steps {traffic.histogram.origin.value}")
    unit = traffic.histogram.unit.value
    _verdict(found.row, found.share, unit)
    used = [r for r in result.rows if r.hits]
    figure = hits_figure([r.size for r in used], [r.hits for r in used], found.row.size, unit)
    chart(figure, "learn_hits")
    derivation_view(found.derivation)


def _verdict(row: BucketBreakEven, share: float, unit: str) -> None:
    metrics(
        {
            "rarest used bucket": f"{row.size:,} {unit}",
            "its steps": f"{row.hits:,} ({theme.share_text(share)})",
            "capture": theme.us_text(row.capture_us),
            "without it, a step more": theme.us_text(row.without_us),
            "pays back from step": "never" if row.alone_from is None else f"{row.alone_from:,}",
        }
    )
    st.info(f"**{row.verdict.value.capitalize()}.** {row.reason}")
