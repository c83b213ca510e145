"""From the workload to the histogram of steps that every page judges bucket sets by."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from app import compute, state
from app.inputs.cost import chosen_cost
from app.serving.advanced import advanced_words, coming_words
from app.serving.inputs import arrival_words, serving_limits
from app.web.page_end import end_page
from app.workload.step_simulation import DECODE, MIXED, PROMPT, requests_in, simulated, steps_of
from core.cost.of_tokens import decodes
from core.errors import ProjectError
from core.histogram import steps_from_lengths
from core.records import SizeUnit, StepHistogram, Trace
from core.simulate import SimulationResult


@dataclass(frozen=True)
class Traffic:
    """Steps to bucket, how they came about, and the simulation where there was one."""

    histogram: StepHistogram
    note: str
    simulation: SimulationResult | None = None


def bucketed_kinds(workload: state.Workload) -> list[str]:
    """What could be bucketed with this workload, the likeliest first."""
    reading = workload.reading
    if reading.steps is not None:
        return [DECODE]
    kinds = []
    if reading.trace is not None:
        kinds += [DECODE, MIXED]
    if reading.prompt_lengths is not None and not reading.prompt_lengths.is_share:
        kinds.append(PROMPT)
    return kinds


def unit_by_tokens(workload: state.Workload) -> SizeUnit | None:
    """What steps count that are priced by tokens; None for decode steps, or where there are none.

    As the widget of the Workload page has it now, which may be before the page keeps it; nothing
    is simulated to tell.
    """
    steps = workload.reading.steps
    if steps is not None:
        return None if decodes(steps) else steps.unit
    kinds = bucketed_kinds(workload)
    kind = st.session_state.get("bucketed", state.value("bucketed", kinds[0])) if kinds else None
    return {MIXED: SizeUnit.TOKENS, PROMPT: SizeUnit.LENGTH}.get(kind or "")


def current_traffic(stop: bool = True) -> Traffic | None:
    """The steps of the chosen workload; without one the page says so and ends (`stop`)."""
    workload = state.session().workload
    if workload is None:
        if stop:
            _empty_state()
        return None
    try:
        traffic = _traffic_of(workload)
    except ProjectError as error:
        st.error(str(error))
        if stop:
            _workload_link()
            end_page()
        return None
    if traffic is None and stop:
        st.info("This workload gives no step sizes yet; the Workload page says what is missing.")
        _workload_link()
        end_page()
    return traffic


def _empty_state() -> None:
    st.info("No traffic yet. Upload a file on the Workload page, or start with the example.")
    if st.button("Open the example trace", type="primary", key="open_example"):
        open_example()
        st.rerun()
    _workload_link()
    end_page()


def _workload_link() -> None:
    """Where traffic comes from, a click away."""
    st.page_link("app_pages/workload.py", label="To the Workload page", icon=":material/upload:")


def open_example() -> None:
    """Make the built-in synthetic trace the workload."""
    session = state.session()
    reading = compute.example_reading()
    session.workload = state.Workload(reading.label, "example", reading, is_example=True)
    session.values["example"] = "1"


def open_linked_example() -> None:
    """A link with example=1 opens the example, on whichever page it points to."""
    if state.session().workload is None and state.value("example", "") == "1":
        open_example()


def _traffic_of(workload: state.Workload) -> Traffic | None:
    reading = workload.reading
    if reading.steps is not None:
        return Traffic(
            reading.steps, f"{reading.steps.origin.value}: as {workload.name} gives them"
        )
    kinds = bucketed_kinds(workload)
    kind = state.value("bucketed", kinds[0]) if kinds else None
    if kind == PROMPT and reading.prompt_lengths is not None:
        steps = steps_from_lengths(reading.prompt_lengths, workload.name)
        return Traffic(steps, "one prefill a request, at its prompt length")
    if reading.trace is None or kind not in kinds:
        return None
    trace = requests_in(reading)
    return None if trace is None else _simulated(trace, kind, arrival_words(reading))


def workload_requests(workload: state.Workload) -> Trace | None:
    """The workload's requests with arrivals; None where there are none to serve."""
    return requests_in(workload.reading)


def decode_histogram(trace: Trace) -> StepHistogram:
    """Decode steps to choose sets for: those of the workload, where that is what it buckets.

    Raises ProjectError.
    """
    workload = state.session().workload
    found = _traffic_of(workload) if workload is not None else None
    if found is None or found.histogram.unit is SizeUnit.LENGTH:
        return simulated_decode(trace)
    return found.histogram


def simulated_decode(trace: Trace) -> StepHistogram:
    """Decode steps of some requests under the present limits."""
    return _simulated(trace, DECODE).histogram


def _simulated(trace: Trace, kind: str, arrivals: str = "") -> Traffic:
    limits = serving_limits()
    result = simulated(trace, limits)
    note = (
        f"estimated: {len(trace):,} requests {arrivals}{coming_words(limits)} through a simulated "
        f"engine ({advanced_words(limits)}), step times {chosen_cost().cost.origin.value}"
    )
    return Traffic(steps_of(result, kind), note, result)
