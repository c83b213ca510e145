"""Queue: who works, what waits, runs and has ended, and what is missing."""

import streamlit as st

from app.measuring.queue_view import show_queue

st.title("Queue", anchor=False)
st.caption(
    "Measurements and long sweeps are jobs in the database; worker processes take them, one at a "
    "time each. A row that is done stays, whatever happens to the worker, and a job goes on where "
    "it was."
)
show_queue()
