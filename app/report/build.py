"""From the work of a session to its report: section by section, none lost without a word."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from app.report.decision_sections import break_even_section, choice_section, sets_section
from app.report.document import Report, Section, said
from app.report.engine_sections import (
    findings_section,
    memory_section,
    origins_section,
    serving_section,
    setting_section,
)
from app.report.traffic_sections import cost_section, workload_section
from app.report.verdict_section import verdict_section
from app.report.work import Work
from core.errors import ProjectError

SECTIONS: tuple[tuple[str, Callable[[Work], Section | None]], ...] = (
    ("What to run", verdict_section),
    ("The best sets for these steps", choice_section),
    ("Bucket sets", sets_section),
    ("Setting to paste", setting_section),
    ("Break-even", break_even_section),
    ("Memory and KV cache", memory_section),
    ("Serving", serving_section),
    ("Step times", cost_section),
    ("Your engine today", findings_section),
    ("Traffic", workload_section),
    ("Where the numbers come from", origins_section),
)


def build_report(work: Work, now: datetime) -> Report:
    """The report of some work; what cannot be computed says why in its section."""
    found = [section for section in (_made(*item, work) for item in SECTIONS) if section]
    if work.notes:
        found.insert(0, Section("Notes", (said(work.notes),)))
    version = "not kept as a session" if work.version is None else f"version {work.version}"
    subtitle = f"{version}, {now.astimezone(UTC):%Y-%m-%d %H:%M} UTC. Traffic: {work.workload.name}"
    return Report(work.name or "CUDA-graph buckets", subtitle, tuple(found))


def _made(title: str, make: Callable[[Work], Section | None], work: Work) -> Section | None:
    try:
        return make(work)
    except ProjectError as error:
        return Section(title, (said(f"Left out: {error}"),))
