"""Mooncake's request traces (JSON Lines), also in the form that AIPerf and Dynamo replay.

`timestamp` is in milliseconds; `hash_ids` names one block of 512 prompt tokens each.
Source: kvcache-ai/Mooncake, FAST'25 release.
"""

from __future__ import annotations

from typing import Any

from core.readers.common.clock import ABSURD_RPS, Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.prefix import PrefixCache
from core.readers.common.records_in import RecordCollector, iter_objects
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "timestamp",
    "prompt_tokens": "input_length",
    "output_tokens": "output_length",
}
BLOCK_TOKENS = 512
BAILIAN_KEYS = ("chat_id", "parent_chat_id", "turn")
FOLLOW_UP = "later turn with only a delay: its arrival hangs on the turn before"
TEXT_ONLY = "prompt given as text, without its length"
_TEXTS = ("text_input", "messages", "payload", "prompt")


def detect(head: Head, options: ReadOptions) -> bool:
    """Rows with input_length, and hash_ids, a delay or a session beside it."""
    if not head.has_keys("input_length"):
        return _is_text_trace(head)
    rows = head.json.sample if head.json else []
    return any("hash_ids" in row or "delay" in row or "session_id" in row for row in rows)


def _is_text_trace(head: Head) -> bool:
    rows = head.json.sample if head.json else []
    return (
        bool(rows)
        and all(
            ("timestamp" in row or "delay" in row) and any(key in row for key in _TEXTS)
            for row in rows
        )
        and any("session_id" in row or "output_length" in row for row in rows)
    )


def read_mooncake(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Milliseconds, unless the numbers can only be seconds. Texts are not kept."""
    return read_blocks_trace(source, head, options, FORMAT, BLOCK_TOKENS, _unit(head))


def read_blocks_trace(
    source: Source, head: Head, options: ReadOptions, form: Format, block_tokens: int, unit: str
) -> Reading:
    """A trace with hash ids of `block_tokens` prompt tokens each and arrivals in `unit`."""
    drops, notes = Drops(), Notes(columns=dict(COLUMN_MAP))
    columns = {**COLUMN_MAP, **options.columns}
    clock = Clock(options.time_unit, unit)
    rows = RecordCollector(clock, drops)
    cache = PrefixCache(block_tokens)
    for number, row in iter_objects(source, head, drops):
        if not notes.all_columns:
            notes.all_columns = tuple(str(key) for key in row)
        prompt, arrival = row.get(columns["prompt_tokens"]), row.get(columns["arrival"])
        if arrival is None and row.get("delay") is not None:
            drops.add(FOLLOW_UP, number)
        elif prompt is None and any(key in row for key in _TEXTS):
            drops.add(TEXT_ONLY, number)
        else:
            hit = cache.hit(prompt, row.get("hash_ids"))
            rows.add(number, prompt, row.get(columns["output_tokens"]), arrival, hit)
    requests = rows.finish(with_hits=cache.usable)
    notes.columns = {role: columns[role] for role in COLUMN_MAP}
    notes.facts.update(cache.facts, time_unit=clock.description)
    notes.warnings += [*clock.warnings, *cache.warnings]
    if unit == "ms":
        notes.warnings.append("Timestamps were read as milliseconds.")
    return requests_reading(form.name, form.label, source.name, requests, drops, notes, options)


def _unit(head: Head) -> str:
    """Milliseconds by definition; seconds where that would be an absurd rate."""
    times: list[Any] = [row.get("timestamp") for row in (head.json.sample if head.json else [])]
    values = [t for t in times if isinstance(t, (int, float)) and not isinstance(t, bool)]
    if len(values) > 1 and max(values) > min(values):
        fractions = any(value != int(value) for value in values if abs(value) < 1e15)
        if fractions and len(values) / ((max(values) - min(values)) / 1e3) > ABSURD_RPS / 10:
            return "s"
    return "ms"


FORMAT = Format("mooncake-jsonl", "Mooncake trace (JSON Lines)", detect, read_mooncake)
