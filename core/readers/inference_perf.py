"""inference-perf's per_request_lifecycle_metrics.json. Bodies of requests are never kept.

Source: inference-perf, reportgen.
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
    "arrival": "start_time",
    "prompt_tokens": "info.request_metrics.text.input_tokens",
    "output_tokens": "info.response_metrics.output_tokens",
}
FAILED = "request failed (the benchmark noted an error)"
_PROMPT_PARTS = tuple(
    f"info.request_metrics.{kind}.input_tokens" for kind in ("text", "image", "video", "audio")
)


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys("start_time", "end_time", "info") and head.has_keys("request")


def read_inference_perf(source: Source, head: Head, options: ReadOptions) -> Reading:
    """`start_time` is a process clock in seconds: only differences count."""
    form = RecordForm(
        FORMAT.name, FORMAT.label, COLUMN_MAP, rule=_rule, time_unit="s", prompt=_prompt,
        output=_output,
    )  # fmt: skip
    return read_records(source, head, form, options)


def _rule(row: Mapping[str, Any]) -> str | None:
    return FAILED if row.get("error") else None


def _prompt(row: Mapping[str, Any]) -> Any:
    """Text, image, video and audio tokens together; older files have one number."""
    parts = [value for path in _PROMPT_PARTS if isinstance(value := dig(row, path), (int, float))]
    return sum(parts) if parts else dig(row, "info.input_tokens")


def _output(row: Mapping[str, Any]) -> Any:
    value = dig(row, COLUMN_MAP["output_tokens"])
    return dig(row, "info.output_tokens") if value is None else value


FORMAT = Format("inference-perf", "inference-perf requests (JSON)", detect, read_inference_perf)
