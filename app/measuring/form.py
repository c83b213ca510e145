"""The form of the Measure page: what shall be measured, at which sizes and contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from app import compute, state
from app.inputs import sets as inputs
from app.inputs.memory import model_config_text
from app.inputs.parsing import parse_sizes
from app.measuring import jobs
from app.workload import traffic
from core.cards import memory_of_device
from core.errors import ProjectError
from core.model.shape import shape_of_config
from core.model.step_bounds import CPU_CACHE_BYTES, MAX_SAMPLES, Device, check_step
from core.records import CaptureMode, MeasureSpec, ModelShape, PoolPolicy
from core.records.measuring import CPU_BUDGET_S
from core.store.jobs import WorkerInfo
from core.store.kinds.measure import CPU_QUEUE

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
DECODE, PREFILL = "llama", "llama-prefill"
TARGETS = {DECODE: "decode step (sizes in requests)", PREFILL: "prefill chunk (sizes in tokens)"}
SUGGESTED = {
    (DECODE, True): "1, 2, 4, 8, 16",
    (DECODE, False): "1, 2, 4, 8..64/8, 96, 128, 192, 256",
    (PREFILL, True): "16, 64, 256",
    (PREFILL, False): "64, 128, 256, 512, 1024, 2048",
}
"""Sizes by target and whether only a CPU is there."""
SIZE_KEYS = {DECODE: "measure_sizes", PREFILL: "measure_chunks"}
FORM_KEYS = ("model", "measure_contexts", "samples", "measure_policy", "capture_mode")


def measure_form(workers: Sequence[WorkerInfo]) -> None:
    """What, sizes, contexts, model and samples; sends a job a context and remembers them."""
    on_cpu = not any(w.alive and w.queue != CPU_QUEUE for w in workers)
    st.selectbox(
        "What is captured",
        list(TARGETS),
        format_func=lambda name: TARGETS[name],
        key=state.remember("target", DECODE),
    )
    target = state.keep("target")
    suggestion = SUGGESTED[target, on_cpu]
    if target == DECODE:
        _fill_from_sets(suggestion)
    with st.form("measure"):
        _size_inputs(target, suggestion)
        _model_inputs()
        sent = st.form_submit_button("Measure", type="primary")
    for key in (SIZE_KEYS[target], *FORM_KEYS):
        state.keep(key)
    if sent:
        _submit(target, workers)


def _size_inputs(target: str, suggestion: str) -> None:
    is_decode = target == DECODE
    left, right = st.columns([2, 1])
    left.text_input(
        f"Sizes to measure [{'requests' if is_decode else 'tokens of a chunk'}]",
        key=state.remember(SIZE_KEYS[target], suggestion),
        help="Such as 1, 2, 4, 8..64/8. The largest is captured first.",
    )
    right.text_input(
        f"Contexts [tokens {'a request' if is_decode else 'before the chunk'}]",
        key=state.remember("measure_contexts", "512"),
        help="One or several, such as 512, 2048. Each is a job of its own; together they tell "
        "the time of a step at any context.",
    )


def _model_inputs() -> None:
    left, right = st.columns([2, 1])
    shapes = [*MODELS, PASTED]
    left.selectbox("Model shape", shapes, key=state.remember("model", shapes[0]))
    right.number_input(
        "Samples a size",
        3,
        MAX_SAMPLES,
        key=state.remember("samples", 30, within=(3, MAX_SAMPLES)),
        help="Timed runs of each size; their median is shown. Without a card a size stops after "
        f"{CPU_BUDGET_S:g} s, so larger ones get fewer.",
    )
    left, right = st.columns([2, 1])
    left.selectbox(
        "Pool",
        list(PoolPolicy),
        format_func=lambda policy: policy.value,
        key=state.remember("measure_policy", PoolPolicy.SHARED_LARGEST_FIRST),
        help="Where graphs keep what a step computes on the way: all in one pool, which the "
        "largest fills and the others use again, or each in one of its own.",
    )
    right.selectbox(
        "Capture",
        list(CaptureMode),
        format_func=lambda mode: mode.value,
        key=state.remember("capture_mode", CaptureMode.FULL),
        help="Piecewise: one graph between attentions, which run eagerly.",
    )


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


def _submit(target: str, workers: Sequence[WorkerInfo]) -> None:
    """A job a context, once all of them can be measured; those that were taken are shown,
    whatever comes of the others."""
    sent: list[str] = []
    try:
        specs = _specs(target)
        for spec in specs:
            check_step(spec, _roomiest(workers))
        for spec in specs:
            sent.append(jobs.submit(spec))
    except ProjectError as error:
        st.error(str(error))
    if sent:
        state.session().job_id = sent[-1]
        state.session().values["measure_jobs"] = sent


def _roomiest(workers: Sequence[WorkerInfo]) -> Device | None:
    """Of those that may take the job, the one with the most memory; None where one is unknown."""
    alive = [worker for worker in workers if worker.alive]
    cards = [worker for worker in alive if worker.queue != CPU_QUEUE]
    found = [(memory_of_device(worker.device_name), worker.device_name) for worker in cards]
    known = [Device(name, memory) for memory, name in found if memory is not None]
    if len(known) < len(cards) or not alive:
        return None
    if not known:
        return Device("a worker without a card", CPU_CACHE_BYTES, holds_weights=False)
    return max(known, key=lambda device: device.memory_bytes)


def _specs(target: str) -> list[MeasureSpec]:
    """Raises CaptureSizesError, SettingError, ModelConfigError."""
    values = state.session().values
    spec = MeasureSpec(
        sizes=parse_sizes(values[SIZE_KEYS[target]]),
        target=target,
        model=_model_shape(values["model"]),
        samples=values["samples"],
        pool_policy=values["measure_policy"],
        capture=values["capture_mode"],
    )
    contexts = parse_sizes(values["measure_contexts"], "a context in tokens")
    return [replace(spec, context_tokens=context) for context in contexts]
