"""Results of SGLang's bench_serving: JSON Lines where a line is a run, not a request.

Source: SGLang 0.5.23, --output-file with --output-details.
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

COLUMN_MAP = {"prompt_tokens": "input_lens", "output_tokens": "output_lens"}
SHAPE_KEYS = (
    "backend", "dataset_name", "request_rate", "max_concurrency", "random_input_len",
    "random_output_len", "random_range_ratio", "sharegpt_output_len",
)  # fmt: skip
SUMMARY_ONLY = (
    "This run has sums alone: no length of a single request. Run the benchmark again with "
    "--output-details."
)


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys("backend", "dataset_name", "total_output_tokens_retokenized")


def read_sglang_bench(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade C: runs have lengths and a request rate, but no arrivals."""
    drops, notes = Drops(), Notes(columns=dict(COLUMN_MAP))
    runs = [run for _, run in iter_objects(source, head, drops)]
    labels = [_label(run) for run in runs]
    alike = len({tuple(str(run.get(key)) for key in SHAPE_KEYS) for run in runs}) == 1
    chosen = choose_parts(labels, options, notes, source.name, alike)
    for index, run in enumerate(runs):
        if index not in chosen:
            drops.add(OTHER_RUN, index + 1, number_of_requests(run))
    picked = [runs[index] for index in chosen]
    _facts(picked, notes)
    detailed = [run for run in picked if has_arrays(run)]
    if not detailed:
        return _summary(picked[0], notes)
    requests = end_to_end([collect_run(run, drops, False) for run in detailed])
    return requests_reading(FORMAT.name, FORMAT.label, source.name, requests, drops, notes, options)


def _facts(runs: list[dict[str, Any]], notes: Notes) -> None:
    rate = runs[0].get("request_rate")
    if isinstance(rate, (int, float)) and not isinstance(rate, bool) and 0 < rate < 1e9:
        notes.facts["request_rate_rps"] = float(rate)
        notes.warnings.append(
            f"The benchmark sent {rate:g} requests/s (Poisson): take that rate as an assumption."
        )
    notes.warnings += closed_loop(rate, runs[0].get("max_concurrency"))


def _summary(run: Mapping[str, Any], notes: Notes) -> Reading:
    done = run.get("completed")
    rows = int(done) if isinstance(done, int) and done >= 0 else 0
    for what, key in (("prompt", "total_input_tokens"), ("output", "total_output_tokens")):
        total = run.get(key)
        if isinstance(total, (int, float)) and rows:
            notes.facts[f"{what}_total_tokens"] = total
            notes.facts[f"{what}_mean_tokens"] = total / rows
            notes.facts[f"{what}_count"] = rows
    return sums_reading(FORMAT.name, FORMAT.label, rows, Drops(), notes, [SUMMARY_ONLY])


def _label(run: Mapping[str, Any]) -> str:
    rate, name = run.get("request_rate"), run.get("dataset_name")
    return f"{number_of_requests(run) or run.get('completed')} of {name} at rate {rate}"


FORMAT = Format("sglang-bench", "SGLang serving benchmark (JSON Lines)", detect, read_sglang_bench)
