"""What replays of lists on a real engine show: figures a list, the noise, and what exceeds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core import metrics
from core.calibration.recording import run_from_json

LOWER_IS_BETTER = ("ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms", "tpot_mean_ms", "tpot_p99_ms",
                   "itl_p50_ms", "itl_p99_ms", "makespan_s")  # fmt: skip
HIGHER_IS_BETTER = ("output_tps",)
FIGURES = (*LOWER_IS_BETTER, *HIGHER_IS_BETTER)
NONE, BETTER, WORSE, UNKNOWN = "none", "better", "worse", "unknown: run each list twice or more"
"""What a difference is called; below the noise there is none."""


def figures_of(run: Mapping[str, Any]) -> dict[str, float]:
    """Of one run as it is recorded; what no request tells (a TPOT of single tokens) is left out.

    Raises FileContentError for a run that is none.
    """
    read = run_from_json(dict(run), str(run.get("name") or "run"))
    trace = read.trace
    assert trace.arrival_s is not None
    ttft = metrics.percentiles(metrics.ttft_s(trace.arrival_s, read.first_token_s), 1e3)
    tpot = metrics.percentiles(
        metrics.tpot_s(read.first_token_s, read.finish_s, trace.output_tokens), 1e3
    )
    itl = run.get("itl_s") or {}
    found = {
        "ttft_p50_ms": ttft.p50,
        "ttft_p99_ms": ttft.p99,
        "tpot_p50_ms": tpot.p50,
        "tpot_mean_ms": tpot.mean,
        "tpot_p99_ms": tpot.p99,
        "itl_p50_ms": None if itl.get("p50") is None else itl["p50"] * 1e3,
        "itl_p99_ms": None if itl.get("p99") is None else itl["p99"] * 1e3,
        "makespan_s": read.makespan_s,
        "output_tps": float(trace.output_tokens.sum()) / read.makespan_s,
    }
    return {name: float(value) for name, value in found.items() if value is not None}


def steps_by_bucket(run: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """{mode: {padded tokens: steps}} as the engine told them; empty where it told none."""
    columns: list[str] = list(run.get("step_columns") or ())
    if "mode" not in columns or "padded" not in columns:
        return {}
    mode, padded = columns.index("mode"), columns.index("padded")
    counts = Counter(
        (row[mode], row[padded]) for row in run["steps"] if row[mode] is not None and row[padded]
    )
    found: dict[str, dict[str, int]] = {}
    for (kind, size), steps in sorted(counts.items()):
        found.setdefault(kind, {})[str(size)] = steps
    return found


def summary_of(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each load, ascending: every list's figures, the noise, and each list beside the first.

    runs : each with "list" and "load"; several of one list and load are repeats
    """
    loads = sorted({float(run["load"]) for run in runs})
    return [_of_load(load, [run for run in runs if run["load"] == load]) for load in loads]


def _of_load(load: float, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = list(dict.fromkeys(run["list"] for run in runs))
    own = {name: [run for run in runs if run["list"] == name] for name in names}
    repeated = {name: [figures_of(run) for run in own[name]] for name in names}
    noise = noise_of(list(repeated.values()))
    means = {name: _means(found) for name, found in repeated.items()}
    return {
        "load": load,
        "lists": {
            name: {
                "runs": len(own[name]),
                "figures": means[name],
                "steps": sum(len(run["steps"]) for run in own[name]),
                "steps_by_bucket": steps_by_bucket(own[name][0]),
            }
            for name in names
        },
        "noise": noise,
        "beside": names[0],
        "differences": {
            name: differences(means[names[0]], means[name], noise) for name in names[1:]
        },
    }


def noise_of(repeated: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, float]:
    """The widest spread of any list's repeats, as a share of their mean; none without repeats."""
    found = {}
    for figure in FIGURES:
        spreads = [
            (max(values) - min(values)) / float(np.mean(values))
            for runs in repeated
            if len(values := [run[figure] for run in runs if figure in run]) > 1
            and np.mean(values) > 0
        ]
        if spreads:
            found[figure] = max(spreads)
    return found


def differences(
    first: Mapping[str, float], other: Mapping[str, float], noise: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """{figure: {"change", "verdict"}}; change is other / first - 1."""
    found = {}
    for figure in FIGURES:
        if figure in first and figure in other and first[figure] > 0:
            change = other[figure] / first[figure] - 1
            found[figure] = {"change": change, "verdict": _verdict(figure, change, noise)}
    return found


def _verdict(figure: str, change: float, noise: Mapping[str, float]) -> str:
    if figure not in noise:
        return UNKNOWN
    if abs(change) <= noise[figure]:
        return NONE
    return BETTER if (change < 0) == (figure in LOWER_IS_BETTER) else WORSE


def _means(repeats: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {
        figure: float(np.mean([run[figure] for run in repeats if figure in run]))
        for figure in FIGURES
        if any(figure in run for run in repeats)
    }
