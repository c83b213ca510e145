"""Tables: results of core as rows of printed texts, pure functions like the charts."""

from __future__ import annotations

from collections.abc import Sequence

from app import theme
from app.charts.memory import CapacityMark
from app.charts.padding import SetView
from core.bucket_break_even import BucketBreakEven
from core.padding import PaddingReport
from core.records import BucketSet, Trace

Row = dict[str, object]


def preview_rows(trace: Trace, count: int = 5) -> list[Row]:
    """The first requests by arrival: numbers only."""
    rows = []
    for i in range(min(count, len(trace))):
        row: Row = {} if trace.arrival_s is None else {"arrival [s]": float(trace.arrival_s[i])}
        row |= {"prompt tokens": int(trace.prompt_tokens[i])}
        row |= {"output tokens": int(trace.output_tokens[i])}
        rows.append(row)
    return rows


def comparison_rows(
    views: Sequence[SetView], step_us: Sequence[float | None], graph_bytes: Sequence[float]
) -> list[Row]:
    """One row a set: what it pads, covers, costs."""
    rows = []
    for view, mean_us, taken in zip(views, step_us, graph_bytes, strict=True):
        report = view.report
        rows.append(
            {
                "bucket set": view.bucket_set.name,
                "graphs": len(view.bucket_set),
                "largest": view.bucket_set.sizes[-1],
                "waste": theme.share_text(report.waste),
                "overhead": theme.share_text(report.overhead),
                "coverage": theme.share_text(report.coverage),
                "padded slots": theme.count_text(report.padded_total),
                "eager steps": theme.count_text(report.eager_steps),
                "never used": len(report.unused),
                "mean step": theme.us_text(mean_us),
                "graph memory": theme.bytes_text(taken),
            }
        )
    return rows


def traffic_rows(
    traffic: str,
    sets: Sequence[BucketSet],
    reports: Sequence[PaddingReport],
    step_us: Sequence[float | None],
) -> list[Row]:
    """One row a set: how it does on one traffic of several."""
    return [
        {
            "traffic": traffic,
            "steps": theme.count_text(report.steps),
            "bucket set": item.name,
            "waste": theme.share_text(report.waste),
            "coverage": theme.share_text(report.coverage),
            "eager steps": theme.count_text(report.eager_steps),
            "mean step": theme.us_text(mean_us),
        }
        for item, report, mean_us in zip(sets, reports, step_us, strict=True)
    ]


def verdict_rows(rows: Sequence[BucketBreakEven]) -> list[Row]:
    """One row a bucket: what to do with it, its gain and break-even against eager steps, then what
    decides, the same against what its steps would run in without it."""
    return [
        {
            "bucket": row.size,
            "verdict": str(row.verdict),
            "steps": theme.count_text(row.hits),
            "eager step": theme.us_text(row.eager_us),
            "graph step": theme.us_text(row.graph_us),
            "net gain": theme.us_text(row.net_us),
            "capture": theme.us_text(row.capture_us),
            "saves from step": _step_text(row.saves_from),
            "at this pace": theme.seconds_text(row.pays_back_s),
            "more without it": theme.us_text(row.without_us),
            "saves from step, against the next": _step_text(row.alone_from if row.hits else None),
            "why": row.reason,
        }
        for row in rows
    ]


def _step_text(step: int | None) -> str:
    return "never" if step is None else theme.count_text(step)


def capacity_rows(marks: Sequence[CapacityMark]) -> list[Row]:
    """One row a set: what its graphs take and what they leave."""
    return [
        {
            "bucket set": mark.name,
            "graphs": mark.num_graphs,
            "graph memory": theme.bytes_text(mark.graph_bytes),
            "KV tokens": theme.count_text(mark.kv_tokens),
            "KV blocks": theme.count_text(mark.kv_blocks),
            "concurrent requests": theme.count_text(mark.requests),
            "KV cache lost": theme.share_text(mark.kv_lost),
        }
        for mark in marks
    ]
