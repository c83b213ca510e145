"""AIPerf's profile_export.jsonl: a line a request, in the order in which they ended.

Source: AIPerf 0.13.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.record_form import RecordForm, read_records
from core.readers.common.records_in import dig
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "metadata.request_start_ns",
    "prompt_tokens": "metrics.input_sequence_length.value",
    "output_tokens": "metrics.output_sequence_length.value",
}
FAILED = "request failed (the benchmark noted an error)"
WARM_UP = "warm-up, not the measured phase"
CANCELLED = "request was cancelled"
_TOKENIZER = (
    "Lengths are those of the benchmark's tokenizer; the server's differ by its chat template."
)


def detect(head: Head, options: ReadOptions) -> bool:
    rows = head.json.sample if head.json else []
    return head.has_keys("metadata", "metrics") and any(
        dig(row, "metadata.request_start_ns") is not None for row in rows
    )


def read_aiperf(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Arrivals are nanoseconds since 1970; reasoning tokens are inside the outputs."""
    form = RecordForm(
        FORMAT.name, FORMAT.label, COLUMN_MAP, rule=_rule, time_unit="ns", notes=(_TOKENIZER,)
    )
    return read_records(source, head, form, options)


def _rule(row: Mapping[str, Any]) -> str | None:
    phase = dig(row, "metadata.benchmark_phase")
    if phase not in (None, "profiling"):
        return WARM_UP
    if row.get("error"):
        return FAILED
    return CANCELLED if dig(row, "metadata.was_cancelled") is True else None


FORMAT = Format("aiperf-jsonl", "AIPerf requests (JSON Lines)", detect, read_aiperf)
