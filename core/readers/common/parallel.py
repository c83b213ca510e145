"""Benchmark runs that keep their requests in parallel arrays: input_lens, output_lens, errors.

Texts in the same objects are never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.records_in import RecordCollector
from core.readers.common.requests import Requests

FAILED_RUN = "request failed (the benchmark noted an error)"
UNEVEN = "arrays of the run differ in length: the request has no partner"
OTHER_RUN = "another run of the file"


def has_arrays(run: Mapping[str, Any]) -> bool:
    """Whether the run holds lengths a request."""
    return isinstance(run.get("input_lens"), list) and isinstance(run.get("output_lens"), list)


def number_of_requests(run: Mapping[str, Any]) -> int:
    return len(run["input_lens"]) if isinstance(run.get("input_lens"), list) else 0


def collect_run(run: Mapping[str, Any], drops: Drops, with_arrivals: bool) -> Requests:
    """The good requests of one run; arrivals [s] from its own clock, where it has start_times."""
    prompts, outputs = run["input_lens"], run["output_lens"]
    errors = run.get("errors")
    starts = run.get("start_times") if with_arrivals else None
    rows = RecordCollector(Clock("s"), drops, wants_arrival=with_arrivals)
    total = max(len(prompts), len(outputs))
    for i in range(total):
        if i >= len(prompts) or i >= len(outputs):
            drops.add(UNEVEN, i + 1)
        elif isinstance(errors, list) and i < len(errors) and errors[i]:
            drops.add(FAILED_RUN, i + 1)
        else:
            start = starts[i] if isinstance(starts, list) and i < len(starts) else None
            rows.add(i + 1, prompts[i], outputs[i], start)
    return rows.finish()


def end_to_end(parts: list[Requests]) -> Requests:
    """Several runs as one: lengths pooled; arrivals laid one run after another."""
    if len(parts) == 1:
        return parts[0]
    arrivals, offset = [], 0.0
    for part in parts:
        if part.arrival_s is None or len(part.arrival_s) == 0:
            continue
        start = part.arrival_s.min()
        arrivals.append(part.arrival_s - start + offset)
        offset = float(arrivals[-1].max())
    has_all = all(part.arrival_s is not None for part in parts)
    return Requests(
        np.concatenate([p.prompt_tokens for p in parts if p.prompt_tokens is not None]),
        np.concatenate([p.output_tokens for p in parts if p.output_tokens is not None]),
        np.concatenate(arrivals) if has_all and arrivals else None,
    )
