"""Measuring jobs coming in: progress, charts and rows of one job, or of one a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from app import state, theme
from app.charts.measured import context_figure, graph_memory_figure, step_time_figure
from app.drawing.markdown_text import as_text
from app.drawing.views import chart, table
from app.measuring import jobs
from app.measuring.failure_view import show_failures
from app.measuring.profile_view import MEMORY
from app.measuring.tables import measured_rows
from core.cost.row_bound import crossover
from core.errors import ProjectError
from core.records import MeasureRow, Profile, SizeUnit
from core.records.measuring import CPU_BUDGET_S, CPU_MIN_SAMPLES, fewer_samples
from core.store.jobs import JobStatus, MeasureJob, WorkerInfo

POLL_S = 0.5
CUT_SHORT = (
    f"Fewer samples than asked for: without a card a size stops after {CPU_BUDGET_S:g} s, with "
    f"{CPU_MIN_SAMPLES} samples at the least, since its times are for orientation only."
)


def show_workers(workers: Sequence[WorkerInfo]) -> None:
    """Who would measure."""
    alive = [worker for worker in workers if worker.alive]
    if not alive:
        st.warning("No worker is listening. Start one with `make worker` or `make run`.")
        return
    rows: list[dict[str, object]] = [
        {"worker": w.executor_id, "device": w.device_name, "doing": w.doing, "host": w.host}
        for w in alive
    ]
    table(rows, "workers")


def chosen_jobs() -> list[str]:
    """The jobs sent last in this session, or looked at; else the last one of this person."""
    job_id = state.session().job_id
    sent = _sent_here()
    if job_id is not None:
        return sent if job_id in sent else [job_id]
    newest = jobs.recent_measurement()
    return [] if newest is None else [newest]


def _sent_here() -> list[str]:
    return [str(item) for item in state.value("measure_jobs", [])]


def show_jobs(job_ids: Sequence[str]) -> None:
    """Progress and rows; polls while a job runs, then stands still."""
    try:
        first = [jobs.job_state(job_id) for job_id in job_ids]
    except ProjectError as error:
        st.error(as_text(str(error)))
        state.session().job_id = None
        return
    if all(job.finished for job in first):
        _draw(first)
        _offer_profiles(first)
        return

    @st.fragment(run_every=POLL_S)
    def live() -> None:
        try:
            _follow(job_ids)
        except ProjectError as error:
            st.error(as_text(str(error)))

    live()


def _follow(job_ids: Sequence[str]) -> None:
    """One look. Raises JobError where a job is gone or the database does not answer."""
    now = [jobs.job_state(job_id) for job_id in job_ids]
    _draw(now)
    running = [job for job in now if not job.finished]
    mine = [job.job_id for job in running if jobs.may_change(job)]
    if not running:
        st.rerun()
    elif mine and st.button("Cancel", key="cancel_job"):
        for job_id in mine:
            jobs.cancel(job_id)


def _draw(found: Sequence[MeasureJob]) -> None:
    st.subheader("Measurement", anchor=False)
    for job in found:
        _draw_progress(job, len(found) > 1)
    measured = [job for job in found if job.rows]
    if not measured:
        return
    _draw_charts(measured)
    several = len(measured) > 1
    rows = [
        cells
        for job in measured
        for cells in measured_rows(
            job.rows, job.spec.samples, job.spec.context_tokens if several else None
        )
    ]
    table(rows, "measured_rows")
    if any(_cut_short(job) for job in measured):
        st.caption(CUT_SHORT)
    show_failures([row for job in measured for row in job.rows])
    for job in measured:
        profile = job.profile()
        st.caption(as_text(f"Measured: {profile.source}.") if profile else "")


def _cut_short(job: MeasureJob) -> bool:
    on_cpu = job.device is not None and not job.device.graphs
    return on_cpu and fewer_samples(job.rows, job.spec.samples)


def _draw_progress(job: MeasureJob, with_context: bool) -> None:
    text = f"{job.done} of {job.total} sizes, {job.status.value}"
    if with_context:
        text = f"context {job.spec.context_tokens:,}: {text}"
    if job.now is not None:
        text += f"; measuring size {job.now}"
    st.progress(job.done / job.total if job.total else 0.0, text=text)
    if job.message:
        st.caption(as_text(job.message))


def _draw_charts(measured: Sequence[MeasureJob]) -> None:
    job = measured[0]
    device = job.device.name if job.device else "unknown device"
    if job.device is not None and not job.device.graphs:
        st.info(
            f"Measured on {as_text(device)}: eager CPU time. CUDA graphs: unavailable, so there is "
            "no replay time and no graph memory. Start a worker on a machine with a CUDA card."
        )
    profiles = [profile for item in measured if (profile := item.profile()) is not None]
    if len(profiles) > 1:
        chart(context_figure(profiles), "measured_times")
    else:
        turn = crossover(job.rows)
        at = turn.at if turn else None
        chart(step_time_figure(job.rows, device, job.spec.unit, at), "measured_times")
    for item in measured:
        show_bound(item.rows, item.spec.unit, item.spec.context_tokens)
    if any(row.pool_bytes is not None for row in job.rows):
        chart(graph_memory_figure(job.rows[::-1], device), "measured_memory")
        st.caption(MEMORY)


def show_bound(rows: Sequence[MeasureRow], unit: SizeUnit, context_tokens: int) -> None:
    """In words, where eager steps wait for the host and where for the card."""
    turn = crossover(rows)
    if turn is not None:
        st.markdown(f"Context {context_tokens:,} tokens: {turn.sentence(unit)}")


def _offer_profiles(found: Sequence[MeasureJob]) -> None:
    """Offer what was replayed as step cost. Only what this session asked for, and to the end, is
    kept in it unasked: other jobs may be other people's, and a part may be all they have."""
    named = _replayed(found)
    if not named:
        return
    kept = state.session().profiles
    kept.update(_replayed([job for job in found if _is_own(job)]))
    priced = [name for name, p in named.items() if p.spec.unit is SizeUnit.REQUESTS]
    if not priced:
        _offer_prefill(named)
        return
    if st.button("Use this profile in all charts", type="primary", key="use_profile"):
        kept.update(named)
        # The sidebar's widget is drawn already; its choice changes with the next run.
        state.session().values["cost_name"] = priced[0]
        st.session_state.pop("cost_name", None)
        st.rerun()
    st.caption(theme.sizes_text(named[priced[0]].spec.sizes))


def _replayed(found: Sequence[MeasureJob]) -> dict[str, Profile]:
    profiles = [profile for job in found if (profile := job.profile()) is not None]
    return {name_of(p): p for p in profiles if any(row.replay_us for row in p.rows)}


def _is_own(job: MeasureJob) -> bool:
    sent = job.job_id in _sent_here() and jobs.may_change(job)
    return sent and job.status is JobStatus.DONE


def _offer_prefill(named: Mapping[str, Profile]) -> None:
    kept = state.session().profiles
    if not named.keys() <= kept.keys():
        if not st.button("Keep this prefill profile", key="use_profile"):
            return
        kept.update(named)
        st.rerun()
    st.caption(
        "A prefill profile: it prices the prompts of simulated engines wherever a decode "
        "profile of the same model and card is the step cost."
    )


def name_of(profile: Profile) -> str:
    """How a measured profile is called in the choices of the pages."""
    spec = profile.spec
    what = "" if spec.unit is SizeUnit.REQUESTS else "prefill, "
    return (
        f"Measured: {profile.device.name}, {spec.model.name}, {what}context "
        f"{spec.context_tokens}, {profile.measured_at}"
    )
