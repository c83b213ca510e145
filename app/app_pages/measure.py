"""Measure: send a bucket list to the worker and watch real times come in."""

import streamlit as st

from app import jobs, state
from app.cost_inputs import known_profiles
from app.measuring import measure_form, show_job, show_workers
from app.profile_view import show_profile
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
except ProjectError as error:
    st.error(str(error))
    st.stop()

job_id = state.session().job_id
if job_id is None:
    recent = jobs.recent(1)
    job_id = recent[0].job_id if recent else None
if job_id is None:
    st.info("Nothing measured yet. Choose sizes above and press Measure.")
else:
    show_job(job_id)

profiles = known_profiles()
if profiles:
    st.subheader("Profiles to use in the charts", anchor=False)
    st.caption("Choose one as step cost in the sidebar; every page then computes with it.")
    show_profile(profiles)
