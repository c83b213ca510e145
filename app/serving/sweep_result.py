"""What a sweep found: its chart, the best set under each load; and a job's rows as they come."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app import state, theme
from app.charts.sweep import FIGURE_WORDS, sweep_figure
from app.drawing.markdown_text import as_text
from app.drawing.views import chart, table
from app.measuring import jobs
from core.errors import ProjectError
from core.records.sweep import Figure, Sweep
from core.serving.answer import load_answer, serving_text, todays_load
from core.serving.spec import SweepSpec
from core.store.jobs import SweepJob

POLL_S = 1.0


def figure_input() -> Figure:
    """Widget for the figure that the chart shows and the loads are judged by."""
    figures = list(FIGURE_WORDS)
    st.selectbox(
        "Judge by",
        figures,
        format_func=FIGURE_WORDS.__getitem__,
        key=state.remember("sweep_figure", figures[0]),
    )
    return state.keep("sweep_figure")


def show_rows(found: Sweep, spec: SweepSpec, figure: Figure) -> None:
    """The best set for this traffic, the chart, and a line a load."""
    _show_best(found, spec)
    loads = [load for load in spec.loads if found.at(load)]
    chart(
        sweep_figure(found, figure, loads, spec.machine.kv_tokens),
        "sweep_chart",
        "estimated by simulation",
    )
    for load in loads:
        answer = load_answer(found, load, len(spec.sets_at(load)), figure)
        st.markdown(f"- Load x{load:g}: {as_text(answer.text)}")
    for text in dict.fromkeys(row.error for row in found.rows if row.error):
        st.warning(as_text(text))
    with st.expander("All runs"):
        table(_run_rows(found), "sweep_rows", "estimated by simulation")
    st.caption(
        f"Estimated by simulation: {spec.num_requests:,} requests, {spec.cost.origin.value} step "
        f"times, graph memory {spec.memory.origin.value}. {_whose_sets(spec)}"
    )


def _whose_sets(spec: SweepSpec) -> str:
    if not spec.sets_by_load:
        return "Every load is served with the same sets."
    return "The best sets under a load are those for the decode steps at that load."


def _show_best(found: Sweep, spec: SweepSpec) -> None:
    load = todays_load(spec.loads)
    try:
        best = found.best_serving(load)
    except ProjectError:
        return
    name = f"{best.num_graphs} graphs ({theme.sizes_text(best.sizes)})"
    if not best.num_graphs:
        name = "no graphs"
    elif best.num_graphs == 1:
        name = f"one graph (size {best.sizes[0]})"
    so_far = "" if len(found.at(load)) == len(spec.sets_at(load)) else " so far"
    st.markdown(
        f"**Best set for this traffic at load x{load:g}{so_far}: {name}.** It serves "
        f"{serving_text(best)}."
    )


def _run_rows(found: Sweep) -> list[dict[str, object]]:
    return [
        {
            "load": f"x{row.load:g}",
            "graphs": row.num_graphs,
            "KV tokens left": theme.count_text(row.kv_tokens),
            "graph memory": theme.bytes_text(row.graph_bytes),
            **{word: _number(getattr(row, name)) for name, word in FIGURE_WORDS.items()},
            "preemptions": row.preemptions,
            "eager steps": row.eager_steps,
        }
        for row in found.rows
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}"


def show_job(
    job_id: str, figure: Figure, differs: Callable[[SweepJob], bool] = lambda job: False
) -> None:
    """A sweep in a worker: rows as they come, a way to cancel; polls until it has ended.

    differs : whether it was sent with other settings than the page has now
    """
    try:
        first = jobs.sweep_state(job_id)
    except ProjectError as error:
        st.error(as_text(str(error)))
        state.session().values.pop("sweep_job", None)
        return
    if differs(first):
        st.info("These rows are of a sweep that was sent with other settings than those above.")
    if first.finished:
        _draw(first, figure)
        return

    @st.fragment(run_every=POLL_S)
    def live() -> None:
        try:
            _follow(job_id, figure)
        except ProjectError as error:
            st.error(as_text(str(error)))

    live()


def _follow(job_id: str, figure: Figure) -> None:
    """One look. Raises JobError where the job is gone or the database does not answer."""
    now = jobs.sweep_state(job_id)
    _draw(now, figure)
    if now.finished:
        st.rerun()
    elif jobs.may_change(now) and st.button("Cancel", key="cancel_sweep_job"):
        jobs.cancel(job_id)


def _draw(job: SweepJob, figure: Figure) -> None:
    st.progress(job.share, text=f"Job {job.status.value}. {as_text(job.message)}")
    if job.rows:
        show_rows(job.sweep(), job.spec, figure)
