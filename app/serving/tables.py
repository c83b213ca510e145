"""Tables of served requests: results of the simulation as rows of printed texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app import theme
from app.charts.serving import Served
from app.drawing.quantity import Quantity
from core.simulate import SimulationResult

Row = dict[str, object]
MEASURES = (("TTFT", "ttft_ms"), ("TPOT", "tpot_ms"), ("ITL", "itl_ms"), ("end to end", "e2e_ms"))
WORK: tuple[tuple[str, Callable[[SimulationResult], float], int], ...] = (
    ("output tokens/s", lambda r: r.output_tps, 1),
    ("requests/s", lambda r: r.request_rps, 3),
    ("makespan [s]", lambda r: r.makespan_s, 2),
    ("idle [s]", lambda r: r.idle_s, 2),
    ("decode steps", lambda r: r.decode_steps.total_steps, 0),
    ("mixed steps (they hold prefill)", lambda r: r.mixed_steps.total_steps, 0),
    ("eager decode steps", lambda r: r.eager_steps, 0),
    ("padded slots", lambda r: r.padded_slots, 0),
    ("requests decoding, mean", lambda r: r.mean_decoding, 1),
    ("KV tokens held, peak", lambda r: r.peak_kv_tokens, 0),
    ("preemptions", lambda r: r.preemptions, 0),
    ("tokens recomputed", lambda r: r.recomputed_tokens, 0),
    ("prompt tokens from the cache", lambda r: r.cached_tokens, 0),
    ("requests rejected", lambda r: len(r.rejected), 0),
)
"""What a run did, as name with unit, value, and digits after the point."""


def served_rows(runs: Sequence[Served], ttft_limit_ms: float, tpot_limit_ms: float) -> list[Row]:
    """One row a set: the figures that decide."""
    rows = []
    for run in runs:
        result, latency = run.result, run.result.latency()
        rows.append(
            {
                "bucket set": run.name,
                "graphs": run.num_graphs,
                "KV tokens": theme.count_text(run.kv_tokens),
                "goodput [requests/s]": _goodput(result, ttft_limit_ms, tpot_limit_ms),
                "TTFT p50": theme.ms_text(latency.ttft_ms.p50),
                "TTFT p99": theme.ms_text(latency.ttft_ms.p99),
                "TPOT p50": theme.ms_text(latency.tpot_ms.p50),
                "TPOT p99": theme.ms_text(latency.tpot_ms.p99),
                "end to end p50": theme.ms_text(latency.e2e_ms.p50),
                "output tokens/s": theme.count_text(result.output_tps),
                "eager steps": theme.count_text(result.eager_steps),
                "padded slots": theme.count_text(result.padded_slots),
                "preemptions": theme.count_text(result.preemptions),
            }
        )
    return rows


def figure_rows(runs: Sequence[Served], ttft_limit_ms: float, tpot_limit_ms: float) -> list[Row]:
    """One row a figure, its unit in its name, one column a set: everything that the runs gave."""
    latencies = {run.name: run.result.latency() for run in runs}
    rows = []
    for label, attribute in MEASURES:
        for rank in ("p50", "p90", "p99"):
            row: Row = {"figure": f"{label} {rank} [ms]"}
            for name, latency in latencies.items():
                row[name] = _number(getattr(getattr(latency, attribute), rank), 2)
            rows.append(row)
    good: Row = {"figure": "goodput [requests/s]"}
    good |= {run.name: _goodput(run.result, ttft_limit_ms, tpot_limit_ms) for run in runs}
    rows.append(good)
    for label, value, digits in WORK:
        work: Row = {"figure": label}
        rows.append(work | {run.name: _number(value(run.result), digits) for run in runs})
    return rows


def _number(value: float | None, digits: int) -> Quantity:
    return Quantity(theme.UNKNOWN if value is None else f"{value:,.{digits}f}", value)


def _goodput(result: SimulationResult, ttft_limit_ms: float, tpot_limit_ms: float) -> Quantity:
    limits = {"ttft_limit_s": ttft_limit_ms / 1e3, "tpot_limit_s": tpot_limit_ms / 1e3}
    return _number(result.goodput_rps(**limits), 3)
