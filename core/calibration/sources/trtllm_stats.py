"""TensorRT-LLM's iteration statistics (JSON of /metrics): a step an object, with its latency."""

from __future__ import annotations

from typing import Any

from core.calibration.evidence import Evidence, StepList
from core.errors import FileContentError
from core.readers.common.drops import Drops
from core.readers.common.head import Head
from core.readers.common.records_in import dig, iter_objects
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.trtllm_stats import detect

LATENCY = (
    "Times are iterLatencyMS; what steps read as context is not used, so its mean is part of the "
    "curve."
)


def read(source: Source, head: Head) -> Evidence | None:
    """Raises FileContentError for such statistics without timed steps."""
    if not detect(head, ReadOptions()):
        return None
    steps = StepList()
    for _, row in iter_objects(source, head, Drops()):
        steps.add(_step(row))
    if not steps.rows:
        raise FileContentError(
            f"{source.name}: no step with iterLatencyMS and inflightBatchingStats; set "
            "enable_iter_perf_stats: true."
        )
    return Evidence(
        "TensorRT-LLM iteration statistics",
        source.name,
        samples=steps.samples,
        notes=(LATENCY, *steps.notes),
    )


def _step(row: Any) -> tuple[float, int, int, int] | None:
    """(us, decoding requests, prompts, tokens of a step with prefill); None: no such step."""
    counts = [
        dig(row, f"inflightBatchingStats.{name}")
        for name in ("numGenRequests", "numContextRequests", "numCtxTokens")
    ]
    rows, prompts, tokens = (n if isinstance(n, int) and 0 <= n < 2**31 else None for n in counts)
    ms = row.get("iterLatencyMS")
    if rows is None or prompts is None or not isinstance(ms, (int, float)) or not 0 < ms < 1e9:
        return None
    if rows + prompts == 0 or (prompts and not tokens):
        return None
    return 1e3 * ms, rows, prompts, (tokens or 0) + rows if prompts else 0
