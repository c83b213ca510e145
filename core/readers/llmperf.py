"""llmperf's individual results: lengths without arrivals; failed rows keep a prompt length.

Source: ray-project/llmperf-leaderboard, raw_data/individual.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.record_form import RecordForm, read_records
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {"prompt_tokens": "number_input_tokens", "output_tokens": "number_output_tokens"}
FAILED = "error_code says that the request failed"
TOO_FEW_TOKENS = -100
"""Rows with this code were really generated, only shorter than asked."""
_CLOSED = (
    "llmperf sends a request when another ends, with lengths fixed beforehand: no production shape."
)


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys(*COLUMN_MAP.values())


def read_llmperf(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade C: there are no arrivals."""
    form = RecordForm(FORMAT.name, FORMAT.label, COLUMN_MAP, rule=_rule, notes=(_CLOSED,))
    return read_records(source, head, form, options)


def _rule(row: Mapping[str, Any]) -> str | None:
    code = row.get("error_code")
    return FAILED if code not in (None, "", 0, TOO_FEW_TOKENS) else None


FORMAT = Format("llmperf", "llmperf results (JSON)", detect, read_llmperf)
