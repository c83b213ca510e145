"""AIBrix workload files: a line holds the requests of one instant. Prompts are never kept.

Source: vllm-project/aibrix, benchmarks/generator.
"""

from __future__ import annotations

from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.records_in import RecordCollector, iter_objects
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "timestamp",
    "prompt_tokens": "Prompt Length",
    "output_tokens": "Output Length",
}
BAD_GROUP = "line without a list of requests"


def detect(head: Head, options: ReadOptions) -> bool:
    rows = head.json.sample if head.json else []
    return head.has_keys("timestamp", "requests") and any(
        isinstance(row.get("requests"), list)
        and any(isinstance(r, dict) and "Prompt Length" in r for r in row["requests"])
        for row in rows
    )


def read_aibrix_workload(source: Source, head: Head, options: ReadOptions) -> Reading:
    """`timestamp` is in milliseconds and holds for all requests of its line."""
    drops = Drops()
    clock = Clock(options.time_unit, "ms")
    columns = {**COLUMN_MAP, **options.columns}
    rows = RecordCollector(clock, drops)
    for number, group in iter_objects(source, head, drops):
        requests = group.get("requests")
        if not isinstance(requests, list):
            drops.add(BAD_GROUP, number)
            continue
        for request in requests:
            item = request if isinstance(request, dict) else {}
            rows.add(
                number,
                item.get(columns["prompt_tokens"]),
                item.get(columns["output_tokens"]),
                group.get(columns["arrival"]),
            )
    notes = Notes(columns=columns)
    found = rows.finish()
    notes.facts["time_unit"] = clock.description
    return requests_reading(FORMAT.name, FORMAT.label, source.name, found, drops, notes, options)


FORMAT = Format(
    "aibrix-workload", "AIBrix workload (JSON Lines)", detect, read_aibrix_workload, rank=8
)
