"""Break-even: when capturing a bucket has paid for itself, or that it never does."""

import streamlit as st

from app import compute, state, theme
from app.charts.break_even import cumulative_figure, gain_figure
from app.drawing.markdown_text import as_text
from app.drawing.tables import verdict_rows
from app.drawing.views import chart, table, traffic_caption
from app.inputs import sets as inputs
from app.inputs.cost import steps_cost
from app.web.page_end import end_page
from app.workload import traffic
from core.errors import ProjectError

WHOLE = "the whole set"

st.title("Break-even", anchor=False)
st.caption(
    "Capturing a graph costs time at start-up; each replay then saves (eager step minus graph "
    "step). Break-even is where the two are equal. A bucket that saves nothing never pays back."
)
found = traffic.current_traffic()
assert found is not None
traffic_caption(found)
workload = state.session().workload
sets = inputs.chosen_sets(found.histogram, workload.reading.captured if workload else None)
if not sets:
    st.info("Choose bucket sets on the Buckets page first.")
    end_page()
picked = inputs.break_even_choice(st, sets)

with st.expander("How graphs come about, and how long the engine runs"):
    left, right = st.columns(2)
    left.checkbox(
        "Graphs are restored from disk instead of captured",
        key=state.remember("restored", False),
    )
    restored = state.keep("restored")
    left.number_input(
        "Restoring one graph takes [ms]",
        0.0,
        1e6,
        key=state.remember("restore_ms", 0.0, within=(0.0, 1e6)),
        disabled=not restored,
    )
    restore_ms = state.keep("restore_ms") if restored else None
    right.number_input(
        "Hours between restarts",
        0.1,
        10_000.0,
        key=state.remember("uptime_h", 24.0, within=(0.1, 10_000.0)),
        help="What pays back later than the next restart is better left eager.",
    )
    uptime_s = state.keep("uptime_h") * 3600

try:
    view = steps_cost(found.histogram)
    result = compute.bucket_break_even(
        *(found.histogram, picked.sizes, view.cost),
        *(uptime_s, restore_ms, inputs.engine_of(picked)),
    )
except ProjectError as error:
    st.error(str(error))
    end_page()

columns = st.columns(4)
whole = result.whole
columns[0].metric("capture, whole set", theme.us_text(whole.capture_us))
columns[1].metric("net gain, mean step", theme.us_text(whole.net_us))
columns[2].metric(
    "saves from step", "never" if whole.saves_from is None else f"{whole.saves_from:,}"
)
columns[3].metric(
    "needs, at this pace",
    theme.seconds_text(whole.pays_back_s) if whole.saves_from is not None else "–",
    help="Time in which this traffic runs that many steps; unknown without a duration.",
)
st.caption(
    f"{as_text(theme.origin_text(view.cost.origin, view.cost.source))}. "
    f"Step counts are {found.histogram.origin.value}."
)

used = [row for row in result.rows if row.hits]
choices = [WHOLE, *(f"bucket {row.size}" for row in used)]
if st.session_state.get("even_bucket") not in choices:
    st.session_state["even_bucket"] = WHOLE
st.selectbox("Show the curves of", choices, key="even_bucket")
label = st.session_state["even_bucket"]
item = whole if label == WHOLE else next(r for r in used if f"bucket {r.size}" == label)
origin = f"steps {found.histogram.origin.value}; step times {view.cost.origin.value}"
chart(
    cumulative_figure(compute.curves(item), f"Time spent, eager against captured: {label}"),
    "cumulative",
    origin,
)
gains = gain_figure(result.rows, state.colour_of(picked.name), found.histogram.unit.value)
chart(gains, "gain", origin)

st.subheader("Verdict for each bucket", anchor=False)
st.caption(
    "Net gain and the first saving step are against eager steps. The verdict weighs the capture "
    "against what the bucket's steps would run in without it: the next larger bucket, or eager."
)
table(verdict_rows(result.rows), "verdicts", origin)
