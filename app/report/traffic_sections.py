"""The part of a report on what came in, and on the step times it is weighed with."""

from __future__ import annotations

import numpy as np

from app import compute, theme
from app.charts.lengths import lengths_figure, steps_figure
from app.charts.step_cost import step_cost_figure
from app.drawing.quantity import Quantity
from app.report.document import Block, Chart, Facts, Section, Table, said
from app.report.work import Work
from app.workload.grade_words import grade_words, lasting_warnings
from core.histogram import log_bins
from core.readers.reading import Reading
from core.records.measuring import samples_text


def workload_section(work: Work) -> Section:
    """The account of the file: what was used, what was left out and why, and the step sizes."""
    reading, found = work.workload.reading, work.traffic
    blocks: list[Block] = [
        said(f"{reading.label}. Grade {reading.grade.value}: {grade_words(reading)}"),
        Facts(_facts(reading) | {"steps": theme.count_text(found.histogram.total_steps)}),
    ]
    if reading.dropped:
        rows = [
            {"left out because": why, "rows": Quantity(f"{n:,}", n)}
            for why, n in reading.dropped.items()
        ]
        blocks.append(Table(rows))
    else:
        blocks.append(said("No row was left out."))
    warnings = lasting_warnings(reading)
    if warnings:
        blocks.append(said(*warnings))
    histograms = [h for h in (reading.prompt_lengths, reading.output_lengths) if h is not None]
    for histogram, colour in zip(histograms, theme.SET_COLOURS, strict=False):
        marks = compute.length_marks(histogram)
        blocks.append(Chart(lengths_figure(log_bins(histogram), marks, colour)))
    blocks.append(Chart(steps_figure(found.histogram)))
    name = work.workload.name
    return Section(f"Traffic: {name}", tuple(blocks), f"Step sizes: {found.note}.")


def _facts(reading: Reading) -> dict[str, object]:
    facts: dict[str, object] = {"rows in the file": theme.count_text(reading.rows)}
    facts |= {"rows used": theme.count_text(reading.kept)}
    trace = reading.trace
    if trace is not None:
        facts |= {"prompt tokens": theme.count_text(float(trace.prompt_tokens.sum()))}
        facts |= {"output tokens": theme.count_text(float(trace.output_tokens.sum()))}
        facts |= {"duration": theme.seconds_text(trace.duration_s)}
        if trace.rate_rps is not None:
            facts |= {"requests a second": f"{trace.rate_rps:.3g}"}
    return facts


def cost_section(work: Work) -> Section:
    """The step times in use, and what they were measured on."""
    cost, histogram = work.view.cost, work.traffic.histogram
    top = int(histogram.sizes[-1])
    sizes = np.unique(np.concatenate([histogram.sizes, cost.sizes[cost.sizes <= top]]))
    blocks: list[Block] = [Chart(step_cost_figure(cost, sizes, _measured(work, top)))]
    profile = work.profile
    if profile is not None:
        device, spec = profile.device, profile.spec
        blocks.append(
            Facts(
                {
                    "card": device.name,
                    "driver": device.driver or "–",
                    "CUDA": device.cuda or "–",
                    "torch": device.torch or "–",
                    "measured": profile.measured_at,
                    "samples a size": samples_text(profile.rows, spec.samples),
                    "model": spec.model.name,
                    "context": f"{spec.context_tokens:,} tokens a request",
                    "graph pool": spec.pool_policy.value,
                }
            )
        )
    blocks.append(
        said(
            f"Graph memory: {theme.origin_text(work.view.memory.origin, work.view.memory.source)}",
            quiet=True,
        )
    )
    return Section("Step times", tuple(blocks), theme.origin_text(cost.origin, cost.source))


def _measured(work: Work, top: int):
    rows = work.profile.rows if work.profile is not None else ()
    return [row for row in sorted(rows, key=lambda row: row.size) if row.size <= top]
