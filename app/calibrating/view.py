"""The pieces of the Calibrate page: the files, what is known of the engine, and what came out."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from app import state, theme
from app.calibrating.choice import CalibrationChoice
from app.calibrating.fitted_models import is_used, use_model
from app.calibrating.tables import comparison_rows
from app.charts.calibration import TITLES, running_figure, step_times_figure
from app.drawing.markdown_text import as_text
from app.drawing.views import chart, table
from app.inputs.parsing import parse_sizes
from app.serving.inputs import limit_inputs, serving_limits
from core.calibration.calibrated import Calibration
from core.calibration.model import model_of, model_to_json
from core.simulate import Machine
from core.text.plain_text import file_stem

EXAMPLE = "the example"
EXAMPLE_LABEL = "Example: a recorded run of vLLM 0.23 on an H200. Upload your own above."
NO_GRAPHS = "none"


def file_inputs() -> bool:
    """Widgets for the files; whether there is something to fit.

    Files stay with the session of the browser, so that the page shows them again when one returns.
    """
    left, middle, right = st.columns([5, 5, 3], vertical_alignment="bottom")
    _uploader(
        left,
        "Run, log or table",
        "calibration_file",
        "A recorded run (JSON), a log with a line a step (vLLM --enable-logging-iteration-details, "
        "TensorRT-LLM print_iter_log), SGLang's decode lines, or a CSV with columns batch and "
        "step_us; packed ones too. docs/calibration.md lists them.",
    )
    _uploader(
        middle,
        "The same without graphs (optional)",
        "calibration_eager",
        "A run, log or table of the engine with enforce_eager: its decode steps become the eager "
        "step times.",
    )
    if right.button("Open the example", key="calibration_example", width="stretch"):
        state.session().values |= {"calibration_file": EXAMPLE, "calibration_eager": None}
    return _file() is not None


def _file() -> Any:
    """The upload, or EXAMPLE; a link to the example opens this page's as well."""
    linked = EXAMPLE if state.value("example", "") == "1" else None
    return state.value("calibration_file", None) or linked


def _uploader(place: Any, label: str, kept: str, help_text: str) -> None:
    key = f"{kept}_upload"
    place.file_uploader(label, key=key, help=help_text, on_change=_taken, args=(key, kept))
    held = state.value(kept, None)
    if isinstance(held, tuple) and st.session_state.get(key) is None:
        place.caption(f"In use: {as_text(held[0])}")


def _taken(key: str, kept: str) -> None:
    """A callback of the uploader: a file was given or taken away, not merely the page left."""
    file = st.session_state.get(key)
    state.session().values[kept] = None if file is None else (file.name, file.getvalue())


def engine_inputs() -> CalibrationChoice:
    """Widgets for what is known of the engine that ran. Raises CaptureSizesError, SettingError."""
    with st.expander("What ran: limits and capture sizes, where the file is silent"):
        limit_inputs("max_num_seqs", "max_num_batched_tokens")
        st.text_input(
            "Capture sizes of that engine",
            key=state.remember("calibration_sizes", ""),
            placeholder="as the file says",
            help=f"E.g. 1, 2, 4, 8..64/8; '{NO_GRAPHS}' where it ran without graphs.",
        )
        text = state.keep("calibration_sizes").strip()
    limits = serving_limits()
    sizes = None if not text else () if text.lower() == NO_GRAPHS else parse_sizes(text)
    file = _file()
    return CalibrationChoice(
        None if file == EXAMPLE else file,
        state.value("calibration_eager", None),
        sizes,
        Machine(
            kv_tokens=limits.kv_tokens,
            max_num_seqs=limits.max_num_seqs,
            max_num_batched_tokens=limits.max_num_batched_tokens,
            mode=limits.mode,
        ),
    )


def show_calibration(found: Calibration) -> None:
    """Sentences, charts, the run beside the simulated one, and the button that takes it over."""
    if _file() == EXAMPLE:
        st.info(EXAMPLE_LABEL)
    st.markdown(f"**{as_text(found.name)}**: {found.what}.")
    for sentence in found.sentences:
        st.markdown(f"- {sentence}")
    _use(found)
    kinds = {TITLES[item.kind]: item for item in found.kinds}
    if len(kinds) > 1:
        key = state.remember("calibration_kind", next(iter(kinds)))
        st.segmented_control("Look at", list(kinds), key=key, required=True)
        state.keep("calibration_kind")
    shown = kinds.get(state.value("calibration_kind", ""), found.kinds[0])
    chart(step_times_figure(shown), "calibration_times", f"real steps of {found.name}, and fitted")
    if found.comparison is not None:
        _run_beside(found)
    for note in found.notes:
        st.caption(as_text(note))


def _run_beside(found: Calibration) -> None:
    assert found.comparison is not None
    st.subheader("The whole run, real and simulated", anchor=False)
    st.caption(
        "Simulated with the fitted step times from the run's arrivals, lengths and limits alone; "
        "the steps of its first half are those the times were fitted to. Makespan: from the first "
        "arrival to the last token. TTFT: until a request's first token. TPOT: each token after "
        "it. Distance of running requests: the share of steps that run another number of requests "
        "than in the real run, 0 to 1; two real runs of the same requests are about 0.12 apart."
    )
    origin = f"real: {found.name}; simulated with fitted step times"
    table(comparison_rows(found.comparison), "calibration_run", origin)
    real, simulated = found.comparison.real_running, found.comparison.simulated_running
    chart(running_figure(real, simulated), "calibration_running", origin)


def _use(found: Calibration) -> None:
    model = model_of(found)
    left, right, _ = st.columns([2, 2, 3])
    left.button(
        "Use this step-time model",
        type="primary",
        key="use_model",
        on_click=use_model,
        args=(model,),
        disabled=is_used(model),
        help="Buckets, Break-even and Serve then compute with it; the sidebar shows it.",
    )
    right.download_button(
        "Save the model (JSON)",
        json.dumps(model_to_json(model), indent=1),
        file_name=f"{file_stem(model.name)}-step-times.json",
        mime="application/json",
        on_click="ignore",
        help="For `python -m core simulate --profile FILE` and the other commands.",
    )
    if is_used(model):
        st.success("Every page computes with this model now.")
    st.caption(as_text(theme.origin_text(found.cost.origin, found.cost.source)))
