"""TensorRT-LLM's iteration statistics (JSON of /metrics): a step an object."""

from __future__ import annotations

from collections import Counter
from typing import Any

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_reading import step_reading
from core.readers.common.records_in import dig, iter_objects
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Origin, SizeUnit, StepHistogram

PREFILL = "step that also held prefill"
NO_BATCH = "object without inflightBatchingStats"
IDLE = "step without requests"


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys("iter", "inflightBatchingStats")


def read_trtllm_stats(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A: steps without context requests are decode steps."""
    drops, notes = Drops(), Notes(facts={"engine": "TensorRT-LLM"})
    sizes: Counter[int] = Counter()
    elapsed_ms = 0.0
    for number, row in iter_objects(source, head, drops):
        context = _count(row, "inflightBatchingStats.numContextRequests")
        size = _count(row, "inflightBatchingStats.numGenRequests")
        latency = row.get("iterLatencyMS")
        if isinstance(latency, (int, float)) and 0 <= latency < 1e9:
            elapsed_ms += latency
        if context is None or size is None:
            drops.add(NO_BATCH, number)
        elif context:
            drops.add(PREFILL, number)
        elif size == 0:
            drops.add(IDLE, number)
        else:
            sizes[size] += 1
    rows = sizes.total() + drops.total
    for path, ours in (("kvCacheStats.maxNumBlocks", "kv_blocks"),
                       ("kvCacheStats.tokensPerBlock", "block_size_tokens")):  # fmt: skip
        value = _count(head.json.sample[0] if head.json and head.json.sample else {}, path)
        if value is not None:
            notes.facts[ours] = value
    steps = None
    if sizes:
        steps = StepHistogram.from_mapping(
            sizes, unit=SizeUnit.REQUESTS, origin=Origin.MEASURED,
            duration_s=elapsed_ms / 1e3 or None, source="TensorRT-LLM iteration statistics",
        )  # fmt: skip
    return step_reading((FORMAT.name, FORMAT.label), steps, rows, drops, notes)


def _count(row: Any, path: str) -> int | None:
    value = dig(row, path)
    return value if isinstance(value, int) and 0 <= value < 2**31 else None


FORMAT = Format("trtllm-stats", "TensorRT-LLM iteration statistics", detect, read_trtllm_stats)
