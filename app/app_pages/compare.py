"""Compare: two sessions, or two versions of one, side by side."""

import streamlit as st

from app import state
from app.charts.compare import best_figure, sets_figure, steps_figure
from app.drawing.markdown_text import as_text
from app.drawing.views import chart, table
from app.sessions import compare_inputs
from app.sessions import current as sessions
from app.sessions.compare import side_of, told_apart
from app.sessions.compare_tables import compare_rows
from app.theme import SET_COLOURS
from app.web.page_end import end_page
from core.errors import ProjectError

STEPS, BEST, EACH = "Step sizes", "Best possible", "Each set"

st.title("Compare", anchor=False)
st.caption(
    "Two sessions, or two versions of one: what differs in traffic, settings and results. Each "
    "side is worked out as its own pages do it."
)
try:
    infos = sessions.store().list_for(sessions.me())
    if not infos:
        st.info("No session is kept yet. Keep your work on the Sessions page, then compare it.")
        end_page()
    compare_inputs.read_link()
    picked = compare_inputs.pick_two(infos)
    compare_inputs.write_link(picked)
    sides = []
    for place, item, colour in zip(st.columns(2), picked, SET_COLOURS, strict=False):
        with place:
            side = side_of(item.session_id, item.version, colour)
            st.caption(as_text(f"{side.name}: {side.note}."))
            sides.append(side)
except ProjectError as error:
    st.error(as_text(str(error)))
    end_page()
if sides[0].name == sides[1].name and picked[0].session_id == picked[1].session_id:
    st.info("Both sides are the same version; choose another session or version on one side.")
    end_page()
first, second = sides = told_apart(*sides)

st.toggle("Only what differs", key=state.remember("compare_only", True))
origins = " and ".join(dict.fromkeys(side.origin for side in sides if side.origin)) or "not known"
rows = compare_rows(first, second, state.keep("compare_only"))
if rows:
    table(rows, "compared", f"step times and graph memory {origins}")
else:
    st.success("Nothing differs.")
st.caption(
    "Difference: second less first. waste = padded slots / slots replayed; coverage = steps that "
    f"run a graph; step time and graph memory are {origins}."
)
key = state.remember("compare_view", STEPS)
st.segmented_control("Show", [STEPS, BEST, EACH], key=key, required=True)
view = state.keep("compare_view")
if view == STEPS:
    chart(steps_figure(sides), "compare_steps")
elif view == BEST:
    chart(best_figure(sides), "compare_best")
else:
    units = {f.what: f.unit for side in sides for item in side.sets for f in item.figures}
    if not units:
        st.info("Neither side has a bucket set.")
        end_page()
    st.selectbox("Number", list(units), key=state.remember("compare_what", list(units)[1]))
    what = state.keep("compare_what")
    chart(sets_figure(sides, what, units[what]), "compare_sets")
