"""Tables of served requests: results of the simulation as rows of printed texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app import theme
from app.charts.serving import Served
from core.simulate import SimulationResult

Row = dict[str, object]
MEASURES = (("TTFT", "ttft_ms"), ("TPOT", "tpot_ms"), ("ITL", "itl_ms"), ("end to end", "e2e_ms"))
WORK: tuple[tuple[str, Callable[[SimulationResult], str]], ...] = (
    ("output tokens/s", lambda r: theme.count_text(r.output_tps)),
    ("requests/s", lambda r: f"{r.request_rps:.3f}"),
    ("makespan", lambda r: theme.seconds_text(r.makespan_s)),
    ("idle", lambda r: theme.seconds_text(r.idle_s)),
    ("decode steps", lambda r: theme.count_text(r.decode_steps.total_steps)),
    ("mixed steps (hold prefill)", lambda r: theme.count_text(r.mixed_steps.total_steps)),
    ("eager decode steps", lambda r: theme.count_text(r.eager_steps)),
    ("padded slots", lambda r: theme.count_text(r.padded_slots)),
    ("requests decoding, mean", lambda r: f"{r.mean_decoding:.1f}"),
    ("KV tokens held, peak", lambda r: theme.count_text(r.peak_kv_tokens)),
    ("preemptions", lambda r: theme.count_text(r.preemptions)),
    ("tokens recomputed", lambda r: theme.count_text(r.recomputed_tokens)),
    ("prompt tokens from the cache", lambda r: theme.count_text(r.cached_tokens)),
    ("requests rejected", lambda r: theme.count_text(len(r.rejected))),
)


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
    """One row a figure, one column a set: everything that the runs gave."""
    latencies = {run.name: run.result.latency() for run in runs}
    rows = []
    for label, attribute in MEASURES:
        for rank in ("p50", "p90", "p99"):
            row: Row = {"figure": f"{label} {rank}"}
            for name, latency in latencies.items():
                row[name] = theme.ms_text(getattr(getattr(latency, attribute), rank))
            rows.append(row)
    good: Row = {"figure": "goodput [requests/s]"}
    good |= {run.name: _goodput(run.result, ttft_limit_ms, tpot_limit_ms) for run in runs}
    rows.append(good)
    for label, text in WORK:
        work: Row = {"figure": label}
        rows.append(work | {run.name: text(run.result) for run in runs})
    return rows


def _goodput(result: SimulationResult, ttft_limit_ms: float, tpot_limit_ms: float) -> str:
    rate = result.goodput_rps(ttft_limit_s=ttft_limit_ms / 1e3, tpot_limit_s=tpot_limit_ms / 1e3)
    return f"{rate:.3f}"
