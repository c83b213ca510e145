"""Measure: send a bucket list to the worker and watch real times come in."""

import streamlit as st

from app.measuring import jobs
from app.measuring.form import measure_form
from app.measuring.job_view import chosen_jobs, show_jobs, show_workers
from app.measuring.known_profiles import every_profile
from app.measuring.profile_view import show_profile
from app.web.page_end import end_page
from core.errors import ProjectError

st.title("Measure", anchor=False)
st.caption(
    "A separate worker process captures and replays a real decode step at each size. On a CUDA "
    "card it measures eager and replay time and memory; without a card it measures eager CPU time, "
    "and says so. Rows that are done survive a crash of the worker."
)
try:
    workers = jobs.workers()
    show_workers(workers)
    measure_form(workers)
    sent = chosen_jobs()
except ProjectError as error:
    st.error(str(error))
    end_page()

if sent:
    show_jobs(sent)
else:
    st.info("Nothing measured yet. Choose sizes above and press Measure.")

st.subheader("Profiles", anchor=False)
st.caption(
    "Choose one as step cost in the sidebar; every page then computes with it. Launch-bound steps "
    "wait for the CPU to submit their kernels, GPU-bound ones for the kernels themselves."
)
show_profile(every_profile())
