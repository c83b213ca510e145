"""The pieces of the Queue page, drawn anew every two seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.drawing.views import table
from app.inputs.duration import rough_text
from app.measuring import jobs
from app.sessions import current as sessions
from app.web import identity
from core.errors import ProjectError
from core.store.jobs import JobState, JobStatus, MeasureJob, QueueView, SweepJob, WorkerInfo

POLL_S = 2.0
PROBLEM = "queue_problem"
ENDED_SHOWN = 20


@st.fragment(run_every=POLL_S)
def show_queue() -> None:
    """Everything, at once."""
    problem = st.session_state.pop(PROBLEM, None)
    if problem:
        st.error(as_text(problem))
    try:
        view = jobs.queue()
        me = identity.current()
        names = {**sessions.store().names_known_to(me.who), me.who: me.name}
        titles = {info.session_id: info.name for info in sessions.store().list_for(me.who)}
    except ProjectError as error:
        st.error(as_text(str(error)))
        return
    for text in view.missing:
        st.warning(as_text(text))
    _show_workers(view)
    _show_active(view, names, titles)
    _show_ended(view, names, titles)


def _show_workers(view: QueueView) -> None:
    st.subheader("Workers", anchor=False)
    if not any(worker.alive for worker in view.workers):
        st.warning(
            "No worker is listening. Start one with `python -m gpu_worker` (or `make worker`)."
        )
    if view.workers:
        # Not by who was heard last: rows would change places at every look.
        ordered = sorted(view.workers, key=lambda w: (not w.alive, w.executor_id))
        table([_worker_row(worker) for worker in ordered], "queue_workers")


def _worker_row(worker: WorkerInfo) -> dict[str, object]:
    return {
        "worker": worker.executor_id,
        "does": worker.doing if worker.alive else f"lost; was {worker.doing}",
        "last heard": f"{rough_text(worker.seen_s_ago)} ago",
        "device": worker.device_name,
        "queue": worker.queue,
        "host": worker.host,
        "protocol": worker.protocol,
    }


def _show_active(view: QueueView, names: Mapping[str, str], titles: Mapping[str, str]) -> None:
    active = [job for job in view.jobs if not job.finished]
    st.subheader("Waiting and running", anchor=False)
    if not active:
        st.caption("Nothing. Send a measurement on the Measure page, or a sweep on Serve.")
    for job in active:
        with st.container(border=True):
            st.markdown(f"**{as_text(job.title_text)}**: {job.status.value}")
            st.progress(job.share, text=as_text(job.message))
            st.caption(as_text(_origin_text(job, view.now_s, names, titles)))
            with st.container(horizontal=True):
                _open_button(job)
                if jobs.may_change(job):
                    st.button(
                        "Cancel",
                        key=f"cancel_{job.job_id}",
                        on_click=_act,
                        args=(jobs.cancel, job.job_id),
                    )


def _show_ended(view: QueueView, names: Mapping[str, str], titles: Mapping[str, str]) -> None:
    ended = [job for job in view.jobs if job.finished]
    st.subheader("Ended", anchor=False)
    if not ended:
        st.caption("Nothing yet.")
    for job in ended[:ENDED_SHOWN]:
        with st.container(border=True):
            st.markdown(f"**{as_text(job.title_text)}**: {_end_word(job)}")
            st.caption(as_text(f"{job.message} {_origin_text(job, view.now_s, names, titles)}"))
            with st.container(horizontal=True):
                _open_button(job)
                if jobs.may_change(job):
                    _delete_button(job)
    if len(ended) > ENDED_SHOWN:
        st.caption(f"{len(ended) - ENDED_SHOWN} older ones are not shown.")


def _end_word(job: JobState) -> str:
    colour = {JobStatus.DONE: "green", JobStatus.FAILED: "red"}.get(job.status, "orange")
    return f":{colour}[{job.status.value}]"


def _origin_text(
    job: JobState, now_s: float, names: Mapping[str, str], titles: Mapping[str, str]
) -> str:
    """Since when, from whom and from which session."""
    parts = [f"Sent {rough_text(now_s - job.submitted_at)} ago"]
    if not jobs.may_change(job):
        parts.append(f"by {names.get(job.sent_by or '', 'somebody else')}")
    if job.session_id is not None and job.session_id in titles:
        parts.append(f"from session {titles[job.session_id]}")
    if job.ended_at is not None:
        parts.append(f"ended {rough_text(now_s - job.ended_at)} ago")
    return ", ".join(parts) + f", queue {job.queue}."


def _open_button(job: JobState) -> None:
    if isinstance(job, MeasureJob):
        page = "app_pages/measure.py"
    elif isinstance(job, SweepJob):
        page = "app_pages/serve.py"
    else:
        return
    if st.button("Open", key=f"open_{job.job_id}"):
        if isinstance(job, SweepJob):
            state.session().values |= {"sweep_job": job.job_id, "sweep_job_key": None}
        else:
            state.session().job_id = job.job_id
        st.switch_page(page)


def _delete_button(job: JobState) -> None:
    with st.popover("Delete"):
        st.caption("Its rows are deleted for good. A profile kept in a session stays there.")
        st.button(
            "Delete it",
            key=f"delete_{job.job_id}",
            on_click=_act,
            args=(jobs.delete, job.job_id),
        )


def _act(what: Callable[[str], None], job_id: str) -> None:
    """Before the page is drawn anew; what stands in the way is told on it."""
    try:
        what(job_id)
    except ProjectError as error:
        st.session_state[PROBLEM] = str(error)
