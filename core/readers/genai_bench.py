"""genai-bench results: lengths without arrivals, closed loop. Source: genai-bench's report."""

from __future__ import annotations

from typing import Any

from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.records_in import RecordCollector, dig
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.runs import always_closed_loop
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {"prompt_tokens": "num_input_tokens", "output_tokens": "num_output_tokens"}
FAILED = "error_code says that the request failed"


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys("individual_request_metrics")


def read_genai_bench(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade C."""
    document: dict[str, Any] = head.json.sample[0] if head.json else {}
    requests = document.get("individual_request_metrics")
    drops = Drops()
    notes = Notes(columns=dict(COLUMN_MAP))
    rows = RecordCollector(Clock(), drops, wants_arrival=False)
    for number, item in enumerate(requests if isinstance(requests, list) else [], 1):
        row = item if isinstance(item, dict) else {}
        if row.get("error_code") not in (None, 0, 200):
            drops.add(FAILED, number)
        else:
            rows.add(number, row.get("num_input_tokens"), row.get("num_output_tokens"))
    limit = dig(document, "aggregated_metrics.num_concurrency")
    notes.warnings += always_closed_loop(limit)
    return requests_reading(
        FORMAT.name, FORMAT.label, source.name, rows.finish(), drops, notes, options
    )


FORMAT = Format("genai-bench", "genai-bench results (JSON)", detect, read_genai_bench)
