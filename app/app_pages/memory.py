"""Memory: what graphs take from the KV cache."""

import streamlit as st

from app import compute, state, theme
from app.charts.memory import capacity_figure
from app.drawing.markdown_text import as_text
from app.drawing.tables import capacity_rows
from app.drawing.views import chart, table
from app.inputs import sets as inputs
from app.inputs.cost import steps_cost
from app.inputs.memory import memory_inputs
from app.inputs.running_engine import graphs_effect_words
from app.web.page_end import end_page
from app.workload import traffic
from app.workload.account_view import show_accounts
from core.errors import ProjectError
from core.memory import BLOCK_SIZE_TOKENS, held_tokens

st.title("Memory", anchor=False)
st.caption(
    "Graphs and the KV cache share the card. Every graph takes memory that could hold KV tokens, "
    "so more graphs mean less padding but fewer concurrent requests."
)
found = traffic.current_traffic()
assert found is not None
workload = state.session().workload
sets = inputs.chosen_sets(found.histogram, workload.reading.captured if workload else None)
try:
    choice = memory_inputs(workload)
    view = steps_cost(found.histogram)
    best = compute.best_frontier(found.histogram)
    curves = compute.capacity_curves(best, choice, view.memory, view.private_memory, view.takes_kv)
    marks = [
        compute.capacity_mark(s, state.colour_of(s.name), choice, view.memory, view.takes_kv)
        for s in sets
    ]
except ProjectError as error:
    st.error(str(error))
    end_page()
origin = f"graph memory {view.memory.origin.value}; KV bytes a token {choice.kv_origin}"
chart(capacity_figure(curves, marks, choice.tokens_per_request), "capacity", origin)
measured_or_not = as_text(theme.origin_text(view.memory.origin, view.memory.source))
st.caption(
    f"Graph memory: {measured_or_not}. KV bytes a token: {choice.kv_origin}. Curves add the best "
    "possible sets of 1, 2, 3 … graphs; points are your sets with the chosen pool. A request of "
    f"{choice.tokens_per_request:,.0f} tokens holds {held_tokens(choice.tokens_per_request):,}: "
    f"whole KV blocks of {BLOCK_SIZE_TOKENS} tokens."
)
st.caption(as_text(graphs_effect_words()))
table(capacity_rows(marks), "capacity_table", origin)
show_accounts(sets, view.memory, marks)
