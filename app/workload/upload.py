"""The upload on the Workload page: the file, and how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from app import compute, state
from app.drawing.markdown_text import as_text
from app.workload import traffic
from core.errors import ColumnMappingError, ProjectError
from core.readers import ReadOptions
from core.readers.options import ALL_PARTS, COLUMN_ROLES, HISTOGRAM_KINDS, TIME_UNITS
from core.readers.reading import Reading

UNMAPPED = "(none)"
ROLE_WORDS = {
    "arrival": "arrival time",
    "prompt_tokens": "prompt tokens",
    "output_tokens": "output tokens",
    "length": "length",
    "count": "count",
}
KIND_WORDS = {None: "as the header says", "prompt": "prompts", "output": "outputs"} | {
    "batch": "decode batches"
}


def upload_inputs() -> None:
    """File and example; a new file becomes the workload, a bad one leaves the old in place."""
    columns = st.columns([4, 1], vertical_alignment="bottom")
    with columns[0]:
        file = st.file_uploader(
            "Traffic file",
            key="upload",
            help="Traces, histograms, engine logs, metrics, benchmark outputs; packed ones too. "
            "docs/formats.md lists every format.",
        )
    with columns[1]:
        if st.button("Open the example", key="example_button", width="stretch"):
            traffic.open_example()
            st.rerun()  # the sidebar is drawn before this page
    values = state.session().values
    if file is None:
        return
    if values.get("file_id") != file.file_id:
        values |= {"file_id": file.file_id, "options": ReadOptions(), "unread": None}
        _take(file, ReadOptions())
    elif "reread" in values:
        _take(file, values.pop("reread"))
    problem = values.get("unread")
    if problem is not None:
        st.error(as_text(_not_read(file.name, file.file_id, problem)))
        if isinstance(problem, ColumnMappingError) and problem.columns:
            options_form({}, problem.columns, values.get("options", ReadOptions()))


def _not_read(name: str, file_id: str, problem: ProjectError) -> str:
    """Why a file was not read, and whose traffic every page therefore still shows."""
    workload, why = state.session().workload, str(problem)
    if workload is None:
        return why
    why = why.removeprefix(f"{name}: ")
    if workload.digest == file_id:
        return f"Still showing {name} as it was read before; with these choices it was not: {why}"
    return f"Still showing {workload.name}; the upload {name} was not read: {why}"


def _take(file: Any, options: ReadOptions) -> None:
    values = state.session().values
    with st.spinner(f"Reading {file.name} …"):
        try:
            reading = compute.reading(file, file.name, options)
        except ProjectError as error:
            values["unread"] = error
            return
    values |= {"unread": None, "options": options, "example": ""}
    values.pop("stored_digest", None)  # the same file, read in another way, is other content
    state.session().workload = state.Workload(file.name, file.file_id, reading)
    st.rerun()


def reading_options(reading: Reading) -> None:
    """Let the user say how the file is to be read, where the content left a choice."""
    options = state.session().values.get("options", ReadOptions())
    with st.expander("How it was read, and other ways to read it", expanded=bool(reading.dropped)):
        options_form(reading.columns, reading.all_columns, options, reading)


def options_form(
    taken: Mapping[str, str],
    all_columns: tuple[str, ...],
    options: ReadOptions,
    reading: Reading | None = None,
) -> None:
    """Columns, unit of time and the rest; sends the file through its reader again."""
    with st.form("read_options", border=False):
        mapping = _column_inputs(taken, all_columns) if all_columns else {}
        changed = replace(options, columns=mapping or options.columns)
        places = st.columns(4)
        changed = _number_inputs(places[:2], changed)
        changed = _part_inputs(places[2:], changed, reading.facts if reading is not None else {})
        spread = st.checkbox(
            "Spread requests that share an arrival evenly over the time to the next",
            options.spread_ticks,
            help="For traces whose clock ticks coarsely, such as Mooncake's 3 s.",
        )
        if st.form_submit_button("Read again"):
            state.session().values["reread"] = replace(changed, spread_ticks=spread)
            st.rerun()


def _number_inputs(places: Sequence[Any], options: ReadOptions) -> ReadOptions:
    """What the file's numbers mean."""
    unit = places[0].selectbox(
        "Unit of arrival times",
        TIME_UNITS,
        index=TIME_UNITS.index(options.time_unit),
        help="auto decides by the size of the numbers.",
    )
    kinds = [None, *HISTOGRAM_KINDS]
    kind = places[1].selectbox(
        "A histogram counts",
        kinds,
        index=kinds.index(options.histogram_of),
        format_func=lambda k: KIND_WORDS[k],
    )
    return replace(options, time_unit=unit, histogram_of=kind)


def _part_inputs(
    places: Sequence[Any], options: ReadOptions, facts: Mapping[str, Any]
) -> ReadOptions:
    """Which of the file's requests are read."""
    model = _one_of(places[0], "Only the model", list(facts.get("models", ())), options.model)
    parts = [*facts.get("parts", ()), ALL_PARTS]
    part = _one_of(places[1], "Part of the file", parts, options.part)
    return replace(options, model=model, part=part)


def _one_of(place: Any, label: str, names: list[str], current: str | None) -> str | None:
    """A choice among what the file holds; the first entry leaves it to the reader."""
    choices = [None, *dict.fromkeys([*names, *filter(None, [current])])]
    index = choices.index(current)
    return place.selectbox(label, choices, index=index, format_func=lambda n: n or "as read")


def _column_inputs(taken: Mapping[str, str], all_columns: tuple[str, ...]) -> dict[str, str]:
    """One choice a role; what stays unmapped is left to the reader's own matching."""
    chosen = {}
    for place, role in zip(st.columns(len(COLUMN_ROLES)), COLUMN_ROLES, strict=True):
        choices = [UNMAPPED, *all_columns]
        index = choices.index(taken[role]) if taken.get(role) in choices else 0
        column = place.selectbox(
            ROLE_WORDS[role], choices, index=index, key=f"map_{role}_{hash(all_columns)}"
        )
        if column != UNMAPPED:
            chosen[role] = column
    return chosen
