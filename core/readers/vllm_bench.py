"""Results of `vllm bench serve`: with --save-detailed a request each, without it sums alone.

Source: vLLM 0.33.0 (and older layouts without start_times).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.readers.common.bucketed import sums_reading
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.parallel import (
    OTHER_RUN,
    collect_run,
    end_to_end,
    has_arrays,
    number_of_requests,
)
from core.readers.common.records_in import iter_objects
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.runs import choose_parts, closed_loop
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "start_times",
    "prompt_tokens": "input_lens",
    "output_tokens": "output_lens",
}
MAX_FACT = 1e15
"""Infinity, and numbers beyond any benchmark, are no facts that a session can keep."""
SUMMARY_ONLY = (
    "This result has sums alone: no length of a single request. Run the benchmark again with "
    "--save-result --save-detailed."
)


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys("tokenizer_id", "num_prompts") and (
        head.has_keys("total_input_tokens") or head.has_keys("completed")
    )


def read_vllm_bench(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade B with start_times, C without, D for a summary. Failed requests are left out."""
    drops, notes = Drops(), Notes()
    runs = [run for _, run in iter_objects(source, head, drops)]
    drops = Drops()
    chosen = choose_parts([_label(r) for r in runs], options, notes, source.name, _alike(runs))
    for index, run in enumerate(runs):
        if index not in chosen:
            drops.add(OTHER_RUN, index + 1, number_of_requests(run))
    picked = [runs[index] for index in chosen]
    _facts(picked[0], notes)
    detailed = [run for run in picked if has_arrays(run)]
    if not detailed:
        return _summary(picked[0], notes, drops)
    with_arrivals = all(isinstance(run.get("start_times"), list) for run in detailed)
    requests = end_to_end([collect_run(run, drops, with_arrivals) for run in detailed])
    notes.columns = {r: c for r, c in COLUMN_MAP.items() if with_arrivals or r != "arrival"}
    return requests_reading(FORMAT.name, FORMAT.label, source.name, requests, drops, notes, options)


def _summary(run: Mapping[str, Any], notes: Notes, drops: Drops) -> Reading:
    done = run.get("completed")
    rows = int(done) if isinstance(done, int) and done >= 0 else 0
    for what, key in (("prompt", "total_input_tokens"), ("output", "total_output_tokens")):
        total = run.get(key)
        if isinstance(total, (int, float)) and rows:
            notes.facts[f"{what}_total_tokens"] = total
            notes.facts[f"{what}_mean_tokens"] = total / rows
            notes.facts[f"{what}_count"] = rows
    return sums_reading(FORMAT.name, FORMAT.label, rows, Drops(), notes, [SUMMARY_ONLY])


def _facts(run: Mapping[str, Any], notes: Notes) -> None:
    for key in ("request_rate", "burstiness", "max_concurrency", "duration", "completed",
                "failed", "request_throughput", "max_concurrent_requests"):  # fmt: skip
        value = run.get(key)
        if isinstance(value, str):
            notes.facts[key] = value[:40]
        elif isinstance(value, (int, float)) and abs(value) < MAX_FACT:
            notes.facts[key] = value
    notes.warnings += closed_loop(run.get("request_rate"), run.get("max_concurrency"))


def _label(run: Mapping[str, Any]) -> str:
    rate, limit = run.get("request_rate"), run.get("max_concurrency")
    text = f"{number_of_requests(run) or run.get('completed')} requests at rate {rate}"
    return text if limit is None else f"{text}, at most {limit} at once"


def _alike(runs: list[dict[str, Any]]) -> bool:
    keys = ("request_rate", "max_concurrency", "burstiness", "backend", "endpoint_type")
    return len({tuple(str(run.get(key)) for key in keys) for run in runs}) == 1


FORMAT = Format("vllm-bench", "vLLM serving benchmark (JSON)", detect, read_vllm_bench)
