"""Lesson 7: shape buckets by distribution."""

from __future__ import annotations

import streamlit as st

from app import compute, theme
from app.drawing.views import chart, traffic_caption
from app.inputs.parsing import parse_sizes
from app.learning.figures import line_figure, slots_figure
from app.learning.parts import derivation_view, metrics, number, switch
from app.workload.traffic import current_traffic
from core.errors import ProjectError
from core.lab.shape_buckets import BATCHES, count_slots, fewer_buckets

TITLE = "Shape buckets: slots and waste"


def show() -> None:
    st.markdown(
        "A graph has one shape, so a step rounds up to the next captured size. Batches "
        f"{', '.join(map(str, BATCHES))}: how many slots are replayed for nobody?"
    )
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        typed = st.text_input("Capture sizes", "1, 2, 4, 8", key="learn_sizes")
    with right:
        with_five = switch("add bucket 5", "learn_five", False)
    sizes = parse_sizes(typed) + ((5,) if with_five else ())
    found = count_slots(sizes=sizes)
    report = found.report
    metrics(
        {
            "useful": f"{report.useful_slots} slots",
            "replayed": f"{report.total_slots} slots",
            "waste": theme.share_text(report.waste),
        }
    )
    chart(slots_figure(BATCHES, report), "learn_slots")
    derivation_view(found.derivation)
    st.subheader("With your own histogram", anchor=False)
    _own()


def _own() -> None:
    traffic = current_traffic(stop=False)
    if traffic is None:
        st.info("No step sizes yet: upload a file on the Workload page, or open the example there.")
        return
    traffic_caption(traffic)
    st.markdown("**Two buckets fewer: what is saved, what is wasted?**")
    many = int(number("buckets now", "learn_many", 16, 3, compute.MAX_GRAPHS))
    try:
        best = compute.best_frontier(traffic.histogram)
        found = fewer_buckets(traffic.histogram, best, many)
    except ProjectError as error:
        st.error(str(error))
        return
    metrics(
        {
            "saved": f"{found.saved_graphs} graphs",
            "wasted more": f"{found.extra_padded:,} slots",
            f"waste, {many} buckets": theme.share_text(found.waste_many),
            f"waste, {found.few} buckets": theme.share_text(found.waste_few),
        }
    )
    figure = line_figure(
        "Least waste that so many graphs can have",
        [point.k for point in best.points],
        [100 * point.waste for point in best.points],
        {
            f"{many} buckets": (len(found.sizes_many), 100 * found.waste_many),
            f"{found.few} buckets": (len(found.sizes_few), 100 * found.waste_few),
        },
        "captured graphs",
        "padded share of the slots [%]",
    )
    chart(figure, "learn_fewer")
    derivation_view(found.derivation, "How the comparison follows")
