"""What was read: how much, what was left out and why, and the lengths."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from app import compute, state, theme
from app.charts.lengths import lengths_figure, ranges_figure
from app.drawing.markdown_text import as_text
from app.drawing.tables import preview_rows
from app.drawing.views import chart, table
from app.workload.grade_words import grade_words, lasting_warnings
from app.workload.upload import reading_options
from core.histogram import log_bins, range_counts
from core.readers.reading import Reading
from core.records import LengthHistogram
from core.text.counting import counted

FROM_FILE = "from the file"


def show_reading(workload: state.Workload) -> None:
    """The whole account of one file."""
    reading = workload.reading
    st.header(as_text(workload.name), anchor=False)
    label = "" if workload.is_example else f"**{as_text(reading.label)}**. "
    st.markdown(f"{label}Grade {reading.grade.value}: {grade_words(reading)}")
    _metrics(reading)
    for warning in lasting_warnings(reading):
        st.warning(as_text(warning))
    _dropped(reading)
    if not workload.is_example:
        reading_options(reading)
    facts = {k: v for k, v in reading.facts.items() if not k.endswith("_ranges")}
    if reading.trace is not None:
        with st.expander("The first requests, as they were read"):
            table(preview_rows(reading.trace), "preview")
    if facts:
        with st.expander("What else the file tells"):
            table([{"fact": _words(k), "value": _short(v)} for k, v in facts.items()], "facts")
    _length_charts(reading)
    _range_charts(reading)


def _words(key: str) -> str:
    return key.replace("_", " ")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 300 else f"{text[:300]} …"


def _range_charts(reading: Reading) -> None:
    """Grade D: counts by range, drawn with their edges."""
    found = range_counts(reading.facts)
    if not found:
        return
    for place, ranges, colour in zip(
        st.columns(len(found)), found, theme.SET_COLOURS, strict=False
    ):
        with place:
            chart(ranges_figure(ranges, colour), f"{ranges.what}_ranges", FROM_FILE)


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
    st.markdown(f"**{counted(sum(reading.dropped.values()), 'rows')} left out**")
    rows: list[dict[str, object]] = []
    for reason, count in reading.dropped.items():
        examples = ", ".join(map(str, reading.dropped_examples.get(reason, ())))
        rows.append({"reason": reason, "rows": count, "first lines": examples})
    table(rows, "dropped")


def _length_charts(reading: Reading) -> None:
    histograms = [h for h in (reading.prompt_lengths, reading.output_lengths) if h is not None]
    if not histograms:
        return
    for place, histogram, colour in zip(
        st.columns(len(histograms)), histograms, theme.SET_COLOURS, strict=False
    ):
        with place:
            marks = compute.length_marks(histogram)
            figure = lengths_figure(log_bins(histogram), marks, colour)
            chart(figure, f"{histogram.what}_lengths", FROM_FILE)
            st.caption(_length_caption(histogram, marks))


def _length_caption(histogram: LengthHistogram, marks: Mapping[str, float]) -> str:
    texts = [f"{label} {theme.count_text(length)}" for label, length in marks.items()]
    return f"{', '.join(texts)}, longest {int(histogram.lengths[-1]):,} tokens; from the file."
