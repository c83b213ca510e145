"""The part of a report on memory, latency, the engine's setting, and where numbers come from."""

from __future__ import annotations

from app import compute, theme
from app.charts.memory import capacity_figure
from app.charts.serving import latency_figure, series_figure
from app.drawing.tables import capacity_rows
from app.report.document import Block, Chart, Code, Facts, Section, Table, said
from app.report.work import Work
from app.serving.tables import served_rows
from app.study import NO_DECODES
from core.engines import ENGINES
from core.engines.plan import Finding
from core.errors import HistogramError, ProjectError, SettingError
from core.records import SizeUnit


def memory_section(work: Work) -> Section:
    """The KV cache that each set leaves. Raises SettingError where no model is known."""
    choice, memory, takes_kv = work.memory, work.view.memory, work.view.takes_kv
    if choice is None:
        raise SettingError("The Memory page's model cannot be read, so no KV cache is computed.")
    best = compute.best_frontier(work.traffic.histogram)
    curves = compute.capacity_curves(best, choice, memory, work.view.private_memory, takes_kv)
    marks = [
        compute.capacity_mark(s.bucket_set, s.colour, choice, memory, takes_kv) for s in work.sets
    ]
    blocks: list[Block] = [
        Facts(
            {
                "free for graphs and KV cache": theme.bytes_text(choice.free_bytes),
                "KV cache a token": theme.bytes_text(choice.kv_bytes_per_token),
                "tokens a request": theme.count_text(choice.tokens_per_request),
                "graph pool": choice.policy.value,
            }
        ),
        Chart(capacity_figure(curves, marks, choice.tokens_per_request)),
        Table(capacity_rows(marks)),
    ]
    origin = (
        f"Graph memory: {theme.origin_text(memory.origin, memory.source)}. KV bytes a token: "
        f"{choice.kv_origin}."
    )
    return Section("Memory and KV cache", tuple(blocks), origin)


def serving_section(work: Work) -> Section | None:
    """Latency of the sets that were served with the present settings; None where none was."""
    served = work.served
    if served is None or not served.runs:
        return None
    runs = served.runs
    blocks: list[Block] = [
        Table(served_rows(runs, served.ttft_limit_ms, served.tpot_limit_ms)),
        Chart(latency_figure(runs)),
        Chart(series_figure(runs)),
        said(*runs[0].result.notes, quiet=True),
    ]
    origin = (
        f"Estimated by simulation with {runs[0].result.times.origin.value} step times and a "
        f"{served.kv_words}, of which each set's graphs take their part."
    )
    return Section("Serving", tuple(blocks), origin)


def setting_section(work: Work) -> Section:
    """The chosen set as the engine's own setting. Raises HistogramError for prompt lengths."""
    if work.traffic.histogram.unit is SizeUnit.LENGTH:
        raise HistogramError(NO_DECODES)
    wanted = work.export
    chosen = work.set_named(wanted.set_name).bucket_set
    blocks: list[Block] = [said(f"{chosen.name}, for {ENGINES[wanted.engine].label}:")]
    try:
        found = compute.exported(wanted.engine, wanted.version, chosen.sizes, dict(wanted.settings))
    except ProjectError as error:
        blocks += [said(str(error)), Code(", ".join(map(str, chosen.sizes)))]
    else:
        blocks += [Code(form.text) for form in found.forms[:2]]
        blocks.append(said(*found.warnings))
    return Section("Setting to paste", tuple(blocks), "By the engine's rule, not measured.")


def findings_section(work: Work) -> Section | None:
    """What the engine as set on the Engine page would do; None where none is set."""
    if work.engine is None:
        return None
    report = compute.checked(work.engine, work.traffic.histogram)
    label = ENGINES[report.engine].label
    settings = ", ".join(f"{k}={v}" for k, v in report.settings.items() if v is not None)
    rows = [_finding_row(finding) for finding in report.findings]
    blocks: tuple[Block, ...] = (
        said(f"{label} {report.version} with {settings or 'its defaults'}."),
        Table(rows) if rows else said("Nothing to warn of."),
    )
    return Section("Your engine today", blocks, f"From the {report.source}; by rule, not measured.")


def _finding_row(finding: Finding) -> dict[str, object]:
    return {
        "severity": finding.severity.value,
        "what happens": f"{finding.text} ({finding.load})" if finding.load else finding.text,
        "share of steps": theme.share_text(finding.share),
        "what to do": finding.fix,
    }


def origins_section(work: Work) -> Section:
    """One row a kind of number: measured, fitted, assumed or estimated, and from what."""
    histogram, view = work.traffic.histogram, work.view
    steps = histogram.origin.value
    rows = [
        {"number": "step sizes", "is": steps, "from": work.traffic.note},
        {
            "number": "padding, coverage, best sets",
            "is": "computed exactly",
            "from": f"the step sizes ({steps})",
        },
        {"number": "step times", "is": view.cost.origin.value, "from": view.cost.source},
        {"number": "graph memory", "is": view.memory.origin.value, "from": view.memory.source},
        {
            "number": "break-even, mean steps, trade-off",
            "is": view.cost.origin.value,
            "from": "step sizes and step times",
        },
    ]
    if work.memory is not None:
        rows.append({"number": "KV cache", "is": "estimated", "from": work.memory.kv_origin})
    return Section("Where the numbers come from", (Table(rows),))
