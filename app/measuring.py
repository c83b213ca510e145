"""The Measure page's pieces: workers, the form that sends a job, and the job coming in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from app import compute, inputs, jobs, state, theme, traffic
from app.charts.measured import graph_memory_figure, step_time_figure
from app.memory_inputs import model_config_text
from app.parsing import parse_sizes
from app.tables import measured_rows
from app.views import chart, table
from core.errors import ProjectError
from core.model_shape import shape_of_config
from core.records import CaptureMode, MeasureSpec, ModelShape, PoolPolicy, SizeUnit
from core.store.jobs import JobState, WorkerInfo

POLL_S = 0.5

MODELS = {
    "Small block (4 layers, seconds on any machine)": ModelShape(),
    "Llama 8B shape (needs about 20 GiB on a card)": ModelShape(
        name="llama-8b",
        num_layers=32,
        hidden_size=4096,
        num_heads=32,
        num_kv_heads=8,
        head_dim=128,
        ffn_size=14336,
        vocab_size=128256,
    ),
}


PASTED = "The model on the Memory page (its config.json)"
TARGETS = {"llama": "decode step", "llama-prefill": "prefill chunk (sizes in tokens)"}


def show_workers(workers: Sequence[WorkerInfo]) -> None:
    alive = [worker for worker in workers if worker.alive]
    if not alive:
        st.warning("No worker is listening. Start one with `make worker` or `make run`.")
        return
    rows: list[dict[str, object]] = [
        {"worker": w.executor_id, "device": w.device_name, "doing": w.doing, "host": w.host}
        for w in alive
    ]
    table(rows, "workers")


FORM_KEYS = (
    *("measure_sizes", "model", "context_tokens", "samples"),
    *("target", "measure_policy", "capture_mode"),
)


def measure_form(workers: Sequence[WorkerInfo]) -> None:
    """Sizes, model and samples; sends the job and remembers it."""
    on_cpu = not any(w.alive and w.queue != "measure.cpu" for w in workers)
    suggestion = "1, 2, 4, 8, 16" if on_cpu else "1, 2, 4, 8..64/8, 96, 128, 192, 256"
    _fill_from_sets(suggestion)
    with st.form("measure"):
        st.text_input(
            "Sizes to measure [requests]",
            key=state.remember("measure_sizes", suggestion),
            help="Capture sizes such as 1, 2, 4, 8..64/8. The largest is captured first.",
        )
        left, middle, right = st.columns([2, 1, 1])
        shapes = [*MODELS, PASTED]
        left.selectbox("Model shape", shapes, key=state.remember("model", shapes[0]))
        middle.number_input(
            "Context [tokens a request]", 1, 131_072, key=state.remember("context_tokens", 512)
        )
        right.number_input("Samples a size", 3, 10_000, key=state.remember("samples", 30))
        left, middle, right = st.columns([2, 1, 1])
        left.selectbox(
            "What is captured",
            list(TARGETS),
            format_func=lambda target: TARGETS[target],
            key=state.remember("target", "llama"),
        )
        middle.selectbox(
            "Pool",
            list(PoolPolicy),
            format_func=lambda policy: policy.value,
            key=state.remember("measure_policy", PoolPolicy.SHARED_LARGEST_FIRST),
        )
        right.selectbox(
            "Capture",
            list(CaptureMode),
            format_func=lambda mode: mode.value,
            key=state.remember("capture_mode", CaptureMode.FULL),
            help="Piecewise: one graph between attentions, which run eagerly.",
        )
        sent = st.form_submit_button("Measure", type="primary")
    for key in FORM_KEYS:
        state.keep(key)
    if sent:
        _submit()


def _fill_from_sets(suggestion: str) -> None:
    """Offer the sizes of a set from the Buckets page, limited to what is worth measuring."""
    found = traffic.current_traffic(stop=False)
    if found is None:
        return
    workload = state.session().workload
    sets = inputs.chosen_sets(found.histogram, workload.reading.captured if workload else None)
    options = ["(as typed)", *(s.name for s in sets)]
    name = st.selectbox("Take the sizes from", options, key="measure_from")
    if name != st.session_state.get("measure_from_used", "(as typed)"):
        st.session_state["measure_from_used"] = name
        sizes = next((s.sizes for s in sets if s.name == name), None)
        text = ", ".join(map(str, sizes)) if sizes else suggestion
        state.set_values({"measure_sizes": text})


def _model_shape(name: str) -> ModelShape:
    """Raises ModelConfigError for a pasted model that the step cannot have."""
    if name in MODELS:
        return MODELS[name]
    config = compute.model_config(model_config_text())
    found = shape_of_config(config, tensor_parallel=state.value("tp", 1))
    for note in found.notes:
        st.info(note)
    return found.shape


def _submit() -> None:
    values = state.session().values
    try:
        spec = MeasureSpec(
            sizes=parse_sizes(values["measure_sizes"]),
            target=values["target"],
            model=_model_shape(values["model"]),
            context_tokens=values["context_tokens"],
            samples=values["samples"],
            pool_policy=values["measure_policy"],
            capture=values["capture_mode"],
        )
        state.session().job_id = jobs.submit(spec)
    except ProjectError as error:
        st.error(str(error))


def show_job(job_id: str) -> None:
    """The job's progress and rows; polls while it runs, then stands still."""
    try:
        first = jobs.job_state(job_id)
    except ProjectError as error:
        st.error(str(error))
        state.session().job_id = None
        return
    if first.finished:
        _draw_job(first)
        _offer_profile(first)
        return

    @st.fragment(run_every=POLL_S)
    def live() -> None:
        now = jobs.job_state(job_id)
        _draw_job(now)
        if now.finished:
            st.rerun()
        elif st.button("Cancel", key="cancel_job"):
            jobs.cancel(job_id)

    live()


def _draw_job(job: JobState) -> None:
    st.subheader("Measurement", anchor=False)
    share = job.done / job.total if job.total else 0.0
    text = f"{job.done} of {job.total} sizes, {job.status.value}"
    if job.now is not None:
        text += f"; measuring size {job.now}"
    st.progress(share, text=text)
    if job.message:
        st.caption(job.message)
    if not job.rows:
        return
    device = job.device.name if job.device else "unknown device"
    if job.device is not None and not job.device.graphs:
        st.info(
            f"Measured on {device}: eager CPU time. CUDA graphs: unavailable, so there is no "
            "replay time and no graph memory. Start a worker on a machine with a CUDA card."
        )
    chart(step_time_figure(job.rows, device), "measured_times")
    if any(row.pool_bytes is not None for row in job.rows):
        chart(graph_memory_figure(job.rows[::-1], device), "measured_memory")
    table(measured_rows(job.rows), "measured_rows")
    st.caption(_measured_caption(job))


def _measured_caption(job: JobState) -> str:
    profile = job.profile()
    return f"Measured: {profile.source}." if profile else ""


def _offer_profile(job: JobState) -> None:
    profile = job.profile()
    if profile is None or not any(row.replay_us for row in profile.rows):
        return
    if profile.spec.unit is not SizeUnit.REQUESTS:
        st.caption("A prefill profile: the charts of decode steps are not priced by it.")
        return
    name = f"Measured: {profile.device.name}, {profile.spec.model.name}, {profile.measured_at}"
    state.session().profiles[name] = replace(profile)
    if st.button("Use this profile in all charts", type="primary", key="use_profile"):
        # The sidebar's widget is drawn already; its choice changes with the next run.
        state.session().values["cost_name"] = name
        st.session_state.pop("cost_name", None)
        st.rerun()
    st.caption(theme.sizes_text(profile.spec.sizes))
