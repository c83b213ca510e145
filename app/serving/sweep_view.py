"""The sweep on the Serve page: numbers of graphs under several loads, run here or as a job."""

from __future__ import annotations

import time

import streamlit as st

from app import compute, state
from app.inputs.duration import rough_text
from app.measuring import jobs
from app.serving.choice import ServingLimits
from app.serving.sweep_inputs import load_inputs, sweep_spec
from app.serving.sweep_result import figure_input, show_job, show_rows
from core.errors import ProjectError
from core.readers.reading import Reading
from core.records import Grade, StepHistogram, Trace
from core.records.sweep import Sweep, SweepRow
from core.serving.spec import SweepSpec
from core.serving.sweep import seconds_left, sweep, sweep_seconds

LONG_S = 10.0
"""A sweep that takes longer runs as a job, unless the user wants it here."""


def sweep_section(
    trace: Trace, histogram: StepHistogram, limits: ServingLimits, view: compute.CostView
) -> None:
    """Best sets of growing size, and eager, under each load."""
    st.subheader("How many graphs, at which load?", anchor=False)
    st.caption(
        "Serves the requests under each load with the best sets of 1, 2, 4 … 64 graphs for the "
        "steps at that load, and without graphs. More graphs pad less and take KV cache: the "
        "sweep shows where the second outweighs the first."
    )
    try:
        spec = sweep_spec(trace, histogram, limits, view, load_inputs())
    except ProjectError as error:
        st.error(str(error))
        return
    key = compute.content_digest((spec.key, trace))
    _buttons(key, spec, trace)
    _show(key, spec)


def kept_sweep() -> None:
    """The sweep that was sent from this session, also where its traffic is not at hand."""
    if state.value("sweep_job", None) is not None:
        st.subheader("The sweep sent last", anchor=False)
        show_job(state.value("sweep_job", ""), figure_input())


def _buttons(key: str, spec: SweepSpec, trace: Trace) -> None:
    kept = _rows_here(key)
    seconds = sweep_seconds(spec, len(kept))
    is_long = seconds > LONG_S
    here, as_job = "Run the sweep", "Run it as a job"
    if is_long:
        here, as_job = "Run it here", "Run the sweep as a job"
    st.caption(
        f"{len(spec.points)} runs of {spec.num_requests:,} requests, about "
        f"{rough_text(seconds)}. A job runs in a worker process: leave the page or close "
        "the browser, the rows are kept."
    )
    with st.container(horizontal=True):
        kinds = ("secondary", "primary") if is_long else ("primary", "secondary")
        run_here = st.button(here, key="sweep", type=kinds[0])
        run_job = st.button(as_job, key="sweep_as_job", type=kinds[1])
    if run_here:
        _run(key, spec, trace)
    elif run_job:
        _send(key, spec, trace)


def _rows_here(key: str) -> list[SweepRow]:
    """Rows of exactly these settings that were made on the page, to be added to."""
    stored = state.session().values.get("swept")
    return stored[2] if stored is not None and stored[0] == key else []


def _run(key: str, spec: SweepSpec, trace: Trace) -> None:
    """Serve under a progress bar; what is done stays when a click ends it."""
    rows = _rows_here(key)
    values = state.session().values
    values["swept"] = (key, spec, rows)
    values.pop("sweep_job", None)
    place = st.empty()
    with place.container():
        bar = st.progress(0.0, text="Serving …")
        st.button("Cancel", key="cancel_sweep", help="What is done by then stays.")
    begin, before = time.monotonic(), len(rows) / len(spec.points)

    def show(share: float) -> None:
        left = seconds_left(time.monotonic() - begin, before, share)
        about = f", about {rough_text(left)} left" if left is not None else ""
        bar.progress(min(1.0, share), text=f"{len(rows)} of {len(spec.points)} runs served{about}")

    try:
        sweep(trace, spec, show, rows)
    except ProjectError as error:
        st.error(str(error))
    place.empty()


def _send(key: str, spec: SweepSpec, trace: Trace) -> None:
    """Give the sweep to a worker, its requests as the session store keeps them."""
    workload = state.session().workload
    assert workload is not None
    reading = workload.reading
    if reading.trace is not trace:
        name = trace.name or workload.name
        reading = Reading("requests", name, Grade.REQUESTS, len(trace), len(trace), trace=trace)
    try:
        with st.spinner("Sending the requests …"):
            job_id = jobs.submit_sweep(spec, reading)
    except ProjectError as error:
        st.error(str(error))
        return
    values = state.session().values
    values["sweep_job"], values["sweep_job_key"] = job_id, key
    values.pop("swept", None)


def _show(key: str, spec: SweepSpec) -> None:
    """The rows that were made or sent last, whatever the settings are now."""
    values = state.session().values
    job_id, here = values.get("sweep_job"), values.get("swept")
    if job_id is not None:
        sent_as = values.get("sweep_job_key")
        # Opened by a link or from the queue, only the job itself tells what it was sent with.
        show_job(
            *(str(job_id), figure_input()),
            differs=lambda job: job.spec != spec if sent_as is None else sent_as != key,
        )
    elif here is not None and here[2]:
        if here[0] != key:
            st.info("These rows were made with other settings than those above.")
        show_rows(Sweep(tuple(here[2])), here[1], figure_input())
