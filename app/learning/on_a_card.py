"""The real thing: have a worker with a CUDA card capture a step, and compare it with eager."""

from __future__ import annotations

import streamlit as st

from app import state, theme
from app.drawing.markdown_text import as_text
from app.drawing.views import table
from app.learning.parts import choice, switch
from app.measuring import jobs
from core.errors import ProjectError
from core.records import CaptureMode, MeasureRow, MeasureSpec
from core.store.jobs import MeasureJob

POLL_S = 0.5
SIZES = (1, 2, 4, 8)
CPU_QUEUE = "measure.cpu"


def show() -> None:
    """Off by default: the queue is only opened when it is asked for."""
    if not switch("Run it on a real card", "learn_card", False):
        return
    try:
        cards = [w for w in jobs.workers() if w.alive and w.queue != CPU_QUEUE]
        if not cards:
            st.info(
                "No worker with a CUDA card is listening. On a machine with one, start "
                "`make worker`, or run every lesson there with `python examples/graph_contract.py`."
            )
            return
        mode = choice("Capture", [m.value for m in CaptureMode], "learn_card_mode")
        device = as_text(cards[0].device_name)
        if st.button(f"Capture and replay on {device}", key="learn_card_run"):
            spec = MeasureSpec(SIZES, context_tokens=64, samples=20, capture=CaptureMode(mode))
            state.session().values["learn_job"] = jobs.submit(spec, queue=cards[0].queue)
        job_id = state.value("learn_job", None)
        if job_id is not None:
            _show_job(job_id)
    except ProjectError as error:
        st.error(as_text(str(error)))


def _show_job(job_id: str) -> None:
    first = jobs.job_state(job_id)
    if first.finished:
        _draw(first)
        return

    @st.fragment(run_every=POLL_S)
    def live() -> None:
        try:
            now = jobs.job_state(job_id)
        except ProjectError as error:
            st.error(as_text(str(error)))
            return
        _draw(now)
        if now.finished:
            st.rerun()

    live()


def _draw(job: MeasureJob) -> None:
    st.progress(
        job.done / job.total if job.total else 0.0,
        text=f"{job.done} of {job.total} buckets, {job.status.value}",
    )
    if job.message:
        st.caption(as_text(job.message))
    if job.rows:
        table([_row(row) for row in job.rows], "learn_card_rows")
    profile = job.profile()
    if profile is not None:
        st.caption(
            f"Measured: {as_text(profile.source)}. A step with a paged KV cache, not the toy above."
        )


def _row(row: MeasureRow) -> dict[str, object]:
    if row.error is not None:
        return {"bucket": row.size, "replay equals eager": f"failed: {row.error}"}
    return {
        "bucket": row.size,
        "replay equals eager": {True: "yes", False: "NO", None: "not compared"}[row.equal],
        "nodes": f"{sum(row.nodes.values()):,}" if row.nodes else "–",
        "pieces": "–" if row.pieces is None else str(row.pieces),
        "eager": theme.us_text(row.eager_us),
        "replay": theme.us_text(row.replay_us),
        "capture": theme.ms_text(row.capture_ms),
    }
