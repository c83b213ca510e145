"""The button that gives the work so far as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from app import compute, state
from app.deciding.best_choice import best_choice
from app.deciding.export_view import NEWEST
from app.deciding.verdict_view import study_at_once
from app.drawing.markdown_text import as_text
from app.inputs import sets as inputs
from app.inputs.cost import chosen_cost, measured_profile, steps_cost
from app.inputs.memory import chosen_memory
from app.report.work import ChosenSet, ExportChoice, PayBack, ServedRuns, Work
from app.serving import runs as serving
from app.serving.inputs import serving_limits
from app.serving.kv_cache import kv_words
from app.serving.view import latency_limits
from app.workload import traffic
from app.workload.other_traffic import with_others
from app.workload.traffic import Traffic
from core.engines import ENGINES
from core.errors import ProjectError
from core.records import BucketSet, SizeUnit
from core.text.plain_text import file_stem


def report_button(found: Traffic | None = None, sets: Sequence[BucketSet] | None = None) -> None:
    """One button; the report is made when it is pressed. Nothing where there is no traffic yet.

    found, sets : what the page already has; looked up where it has not
    """
    workload = state.session().workload
    found = found or (traffic.current_traffic(stop=False) if workload is not None else None)
    if workload is None or found is None or not len(found.histogram.sizes):
        return
    if sets is None:
        sets = inputs.chosen_sets(found.histogram, workload.reading.captured)
    try:
        work = _work(workload, found, sets) if sets else None
    except ProjectError as error:
        st.divider()
        st.warning(as_text(f"There is no report of this work now: {error}"))
        return
    if work is None:
        return
    st.divider()
    st.download_button(
        "Report as HTML",
        lambda: _made(work),
        file_name=f"bucketwise-{file_stem(work.name or work.workload.name, 40)}.html",
        mime="text/html",
        key="report",
        icon=":material/summarize:",
        on_click="ignore",
    )
    st.caption(
        "One file of about 2 MB to attach to a ticket: charts, tables and where each number comes "
        "from. It opens without network and sends nothing."
    )


def _made(work: Work) -> str:
    # Imported here: no page waits for what only a report needs.
    from app.report.build import build_report
    from app.report.html import report_html

    return report_html(build_report(work, datetime.now(UTC)))


def _work(workload: state.Workload, found: Traffic, sets: Sequence[BucketSet]) -> Work:
    """The choices of this browser session. Raises ProjectError where there is no step cost."""
    session = state.session()
    kept = session.open_id is not None
    view = steps_cost(found.histogram)
    return Work(
        name=session.open_name if kept else "",
        notes=session.open_notes if kept else "",
        version=session.open_version if kept else None,
        workload=workload,
        traffic=found,
        sets=tuple(
            ChosenSet(item, state.colour_of(item.name), inputs.engine_of(item)) for item in sets
        ),
        best=best_choice(),
        best_for=with_others(found.histogram),
        view=view,
        profile=measured_profile(found.histogram),
        memory=_memory(workload),
        pay_back=_pay_back(sets),
        served=_served(workload, found, sets, chosen_cost()),
        engine=inputs.today(),
        export=_export(sets),
        study=study_at_once(workload),
    )


def _memory(workload: state.Workload):
    try:
        return chosen_memory(workload)
    except ProjectError:
        return None


def _pay_back(sets: Sequence[BucketSet]) -> PayBack:
    restored = state.value("restored", False)
    return PayBack(
        inputs.break_even_set(sets),
        state.value("uptime_h", 24.0) * 3600,
        state.value("restore_ms", 0.0) if restored else None,
    )


def _served(
    workload: state.Workload, found: Traffic, sets: Sequence[BucketSet], view: compute.CostView
) -> ServedRuns | None:
    """The runs that the Serve page shows now. Raises ProjectError."""
    trace = traffic.workload_requests(workload)
    if trace is None or not serving.any_runs():
        return None
    if found.histogram.unit is SizeUnit.LENGTH:  # Serve chooses sets for decode steps
        sets = inputs.chosen_sets(traffic.decode_histogram(trace), workload.reading.captured)
    limits, wanted = serving_limits(), latency_limits()
    plans, _ = serving.plans_of(sets, limits, view)
    runs = serving.results(serving.run_key(trace, limits, view), plans)
    return ServedRuns(tuple(runs), kv_words(), wanted.ttft_ms, wanted.tpot_ms)


def _export(sets: Sequence[BucketSet]) -> ExportChoice:
    engine = state.value("export_engine", next(iter(ENGINES)))
    version = state.value(f"export_version_{engine}", NEWEST)
    return ExportChoice(
        inputs.export_set(sets),
        engine,
        None if version == NEWEST else version,
        inputs.shared_settings(engine),
    )
