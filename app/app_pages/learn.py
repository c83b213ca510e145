"""Learn: the graph contract, each point of it run on an emulated card."""

import streamlit as st

from app import state
from app.learning import on_a_card
from app.learning.lessons import LESSONS
from core.errors import ProjectError

st.title("Learn", anchor=False)
st.caption(
    "What a CUDA graph keeps and what it does not, in twelve short pieces. Everything runs on an "
    "emulated card, so no GPU is needed: captures, replays, streams and their errors are executed, "
    "and no result is written down beforehand."
)
titles = list(LESSONS)
if state.value("lesson", titles[0]) not in titles:
    state.set_values({"lesson": titles[0]})
st.selectbox("Lesson", titles, key=state.remember("lesson", titles[0]))
lesson = state.keep("lesson")
st.subheader(lesson, anchor=False)
try:
    LESSONS[lesson]()
except ProjectError as error:
    st.error(str(error))
st.divider()
on_a_card.show()
st.caption("All lessons at once: `python -m core lab`; on a card: `examples/graph_contract.py`.")
