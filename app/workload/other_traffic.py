"""More traffic that the best set must serve too: other loads, other ranks, another hour."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from app import compute, state
from app.drawing.markdown_text import as_text
from app.serving.choice import ServingLimits
from app.serving.inputs import serving_limits
from app.workload.step_simulation import DECODE, requests_in, simulated_steps
from core.buckets.merge import merged
from core.errors import HistogramError, ProjectError
from core.histogram import steps_from_lengths
from core.readers import ReadOptions
from core.readers.reading import Reading
from core.records import Grade, SizeUnit, StepHistogram

LOADS = (0.25, 0.5, 2.0, 4.0)


@dataclass(frozen=True)
class OtherSteps:
    """Steps beside those of the workload."""

    name: str
    steps: StepHistogram


def other_inputs(histogram: StepHistogram) -> None:
    """Widgets: loads of the same requests, further files, and how all are weighed."""
    st.caption(
        "**For several at once**: a peak and a quiet hour, or ranks that share one list. The best "
        "set is then chosen for all of them together. Files added here are not kept in a session."
    )
    left, right = st.columns(2)
    if _can_be_scaled(histogram):
        left.pills(
            "The same requests at other loads",
            LOADS,
            selection_mode="multi",
            format_func=lambda load: f"x{load:g}",
            key=state.remember("other_loads", []),
        )
        state.keep("other_loads")
    left.checkbox(
        "Each has an equal say",
        key=state.remember("other_equal", False),
        help="Else every step counts the same, and a busy hour with many short steps drowns a "
        "quiet one.",
    )
    state.keep("other_equal")
    with right:
        _file_inputs()


def _can_be_scaled(histogram: StepHistogram) -> bool:
    workload = state.session().workload
    if workload is None or workload.reading.trace is None or workload.reading.steps is not None:
        return False
    return histogram.unit is not SizeUnit.LENGTH and serving_limits().concurrency is None


def _file_inputs() -> None:
    """Files are read once; those of an earlier visit to the page stay until they are let go."""
    files = st.file_uploader(
        "More traffic files", key="other_files", accept_multiple_files=True, type=None
    )
    held = _readings()
    if files:
        found = {}
        for file in files:
            try:
                found[file.file_id] = held.get(file.file_id) or (
                    file.name,
                    compute.reading(file, file.name, ReadOptions()),
                )
            except ProjectError as error:
                st.warning(as_text(f"{file.name}: {error}"))
        state.session().values["other_readings"] = found
    elif held:
        names = ", ".join(name for name, _ in held.values())
        if st.button(as_text(f"Let go of {names}"), key="forget_others"):
            state.session().values["other_readings"] = {}
            st.rerun()


def _readings() -> dict[str, tuple[str, Reading]]:
    return state.value("other_readings", {})


def others(histogram: StepHistogram) -> list[OtherSteps]:
    """Every further traffic, in the unit of the workload's. Raises ProjectError."""
    found = []
    workload = state.session().workload
    loads = state.value("other_loads", []) if _can_be_scaled(histogram) else []
    limits = serving_limits()
    for load in sorted(set(loads) & set(LOADS)):
        assert workload is not None
        scaled = replace(limits, load_factor=limits.load_factor * load)
        steps = _steps_of(workload.reading, histogram.unit, scaled)
        found.append(OtherSteps(f"load x{scaled.load_factor:g}", steps))
    for name, reading in _readings().values():
        found.append(OtherSteps(name, _steps_of(reading, histogram.unit, limits)))
    return found


def _steps_of(reading: Reading, unit: SizeUnit, limits: ServingLimits) -> StepHistogram:
    if unit is SizeUnit.LENGTH:
        if reading.prompt_lengths is None:
            raise HistogramError(f"{reading.label}: the file gives no prompt lengths.")
        return steps_from_lengths(reading.prompt_lengths)
    if reading.steps is not None:
        return reading.steps
    trace = requests_in(reading)
    if trace is None:
        missing = "request rate on the Workload page" if reading.grade is Grade.LENGTHS else "trace"
        raise HistogramError(f"{reading.label}: no step sizes follow without a {missing}.")
    return simulated_steps(trace, limits, state.value("bucketed", DECODE))


def with_others(histogram: StepHistogram) -> StepHistogram:
    """What the best set is chosen for: the workload's steps and all others together.

    Raises ProjectError.
    """
    more = [item.steps for item in others(histogram)]
    if not more:
        return histogram
    return merged([histogram, *more], equal_say=bool(state.value("other_equal", False)))
