"""The upload on the Workload page: file, mapping of columns, and what was read."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from app import compute, state, theme, traffic
from app.charts.lengths import lengths_figure
from app.views import chart, table
from core.errors import ProjectError
from core.histogram import log_bins
from core.readers import ReadOptions
from core.readers.reading import Reading
from core.records import LengthHistogram

OUR_COLUMNS = {
    "arrival": "arrival time",
    "prompt_tokens": "prompt tokens",
    "output_tokens": "output tokens",
    "length": "length",
    "count": "count",
}
UNMAPPED = "(none)"


def upload_inputs() -> None:
    """File and example; a new file becomes the workload, a bad one leaves the old in place."""
    columns = st.columns([4, 1], vertical_alignment="bottom")
    with columns[0]:
        file = st.file_uploader(
            "Traffic file",
            key="upload",
            help="CSV, JSON Lines, histograms, vLLM logs with CUDAGraph Stats; gz and zstd too.",
        )
    with columns[1]:
        if st.button("Open the example", key="example_button", width="stretch"):
            traffic.open_example()
            st.rerun()  # the sidebar is drawn before this page
    if file is not None and state.session().values.get("file_id") != file.file_id:
        state.session().values["file_id"] = file.file_id
        state.session().values["columns"] = {}
        _take(file, {})
    elif file is not None and "remap" in state.session().values:
        _take(file, state.session().values.pop("remap"))


def _take(file, mapping: Mapping[str, str]) -> None:
    with st.spinner(f"Reading {file.name} …"):
        try:
            reading = compute.reading(file, file.name, ReadOptions(columns=mapping))
        except ProjectError as error:
            st.error(str(error))
            return
    state.session().workload = state.Workload(file.name, file.file_id, reading)
    state.session().values["example"] = ""
    st.rerun()


def show_reading(workload: state.Workload) -> None:
    """What was understood, what was left out and why, and the lengths."""
    reading = workload.reading
    st.header(workload.name, anchor=False)
    label = "" if workload.is_example else f"**{reading.label}**. "
    st.markdown(f"{label}Grade {reading.grade.value}: {_grade_sentence(reading)}")
    _metrics(reading)
    for warning in reading.warnings:
        st.warning(warning)
    _dropped(reading)
    if reading.columns and not workload.is_example:
        _mapping(reading)
    if reading.facts:
        with st.expander("What else the file tells"):
            table([{"fact": k, "value": str(v)} for k, v in reading.facts.items()], "facts")
    _length_charts(reading)


def _grade_sentence(reading: Reading) -> str:
    from app.inputs import GRADE_WORDS

    return GRADE_WORDS[reading.grade.value]


def _metrics(reading: Reading) -> None:
    cells = [(f"rows used, of {reading.rows:,}", f"{reading.kept:,}")]
    trace = reading.trace
    if trace is not None:
        cells.append(("prompt tokens", theme.count_text(trace.prompt_tokens.sum())))
        cells.append(("output tokens", theme.count_text(trace.output_tokens.sum())))
        if trace.duration_s is not None:
            cells.append(("duration", theme.seconds_text(trace.duration_s)))
        rate = trace.rate_rps
        if rate is not None:
            cells.append(("requests a second", f"{rate:.3g}"))
    if reading.steps is not None:
        cells.append(("steps", theme.count_text(reading.steps.total_steps)))
    for column, (label, text) in zip(st.columns(len(cells)), cells, strict=True):
        column.metric(label, text)


def _dropped(reading: Reading) -> None:
    if not reading.dropped:
        st.caption("No row was left out.")
        return
    st.markdown(f"**{sum(reading.dropped.values()):,} rows left out**")
    rows: list[dict[str, object]] = []
    for reason, count in reading.dropped.items():
        examples = ", ".join(map(str, reading.dropped_examples.get(reason, ())))
        rows.append({"reason": reason, "rows": count, "first lines": examples})
    table(rows, "dropped")


def _mapping(reading: Reading) -> None:
    """Show which column was taken for what, and let the user change it."""
    with st.expander("Columns: what was taken for what", expanded=bool(reading.dropped)):
        known = [name for name in OUR_COLUMNS if name in reading.columns]
        wanted = known or list(reading.columns)
        with st.form("mapping", border=False):
            chosen = {}
            for place, name in zip(st.columns(max(1, len(wanted))), wanted, strict=True):
                options = [UNMAPPED, *reading.all_columns]
                current = reading.columns[name]
                index = options.index(current) if current in options else 0
                label = OUR_COLUMNS.get(name, name)
                chosen[name] = place.selectbox(label, options, index=index, key=f"map_{name}")
            if st.form_submit_button("Read again with these columns"):
                mapping = {name: c for name, c in chosen.items() if c != UNMAPPED}
                state.session().values["remap"] = mapping
                st.rerun()


def _length_charts(reading: Reading) -> None:
    histograms = [h for h in (reading.prompt_lengths, reading.output_lengths) if h is not None]
    if not histograms:
        return
    for place, histogram, colour in zip(
        st.columns(len(histograms)), histograms, theme.SET_COLOURS, strict=False
    ):
        with place:
            marks = compute.length_marks(histogram)
            chart(lengths_figure(log_bins(histogram), marks, colour), f"{histogram.what}_lengths")
            st.caption(_length_caption(histogram, marks))


def _length_caption(histogram: LengthHistogram, marks: Mapping[str, float]) -> str:
    texts = [f"{label} {theme.count_text(length)}" for label, length in marks.items()]
    return f"{', '.join(texts)}, longest {int(histogram.lengths[-1]):,} tokens; from the file."
