"""Recorded runs of an engine: every step, every request, and decode times by batch size.

The layout of this project's own recordings: steps [start_s, duration_s, running before, waiting
before, running after, ...], requests [id, arrival_s, prompt, output, ...], decode_step_us; or
several such runs under "runs", as a replay of several lists writes them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.records_in import RecordCollector
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.run_files import asked_run, one_run, run_name, runs_in
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, Grade, Origin, SizeUnit, StepHistogram

SHORT = "row is too short"


def detect(head: Head, options: ReadOptions) -> bool:
    return bool(head.json is not None and head.json.sample and runs_in(head.json.sample[0]))


def read_engine_run(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A: steps at which nobody waited were pure decode steps of the running requests."""
    whole = head.json.sample[0] if head.json else {}
    document, others = one_run(whole, asked_run(source), source.name)
    drops = Drops()
    rows = RecordCollector(Clock("s"), drops)
    for number, item in enumerate(_rows(document, "requests"), 1):
        if not isinstance(item, list) or len(item) < 4:
            drops.add(SHORT, number)
        else:
            rows.add(number, item[2], item[3], item[1])
    notes = Notes(facts=_facts(document))
    steps, mixed = _decode_steps(_rows(document, "steps"))
    notes.facts["mixed_steps"] = mixed
    notes.warnings.append(
        f"Steps are those at which no request waited; {mixed:,} steps that took in a prompt are "
        "not among them, and some that are may still hold the rest of a long one."
    )
    if others:
        notes.warnings.append(others)
        notes.facts["runs"] = [run_name(run) for run in runs_in(whole)[:100]]
    found = rows.finish()
    reading = requests_reading(FORMAT.name, FORMAT.label, source.name, found, drops, notes, options)
    sizes = _sizes(document.get("config"))
    captured = BucketSet("captured", sizes, SizeUnit.TOKENS) if sizes else None
    grade = Grade.STEPS if steps is not None else reading.grade
    return replace(reading, grade=grade, steps=steps, captured=captured)


def _rows(document: dict[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    return value if isinstance(value, list) else []


def _decode_steps(steps: list[Any]) -> tuple[StepHistogram | None, int]:
    sizes: Counter[int] = Counter()
    mixed, duration = 0, 0.0
    for step in steps:
        if not isinstance(step, list) or len(step) < 5:
            continue
        start, length, running, waiting = step[:4]
        if isinstance(start, (int, float)) and isinstance(length, (int, float)):
            duration = max(duration, float(start + length))
        if isinstance(running, int) and running > 0 and waiting == 0 and running < 2**31:
            sizes[running] += 1
        else:
            mixed += 1
    if not sizes:
        return None, mixed
    histogram = StepHistogram.from_mapping(
        sizes, unit=SizeUnit.REQUESTS, origin=Origin.MEASURED, duration_s=duration or None,
        source="recorded engine steps",
    )  # fmt: skip
    return histogram, mixed


def _facts(document: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for key, ours in (("kv_blocks", "kv_blocks"), ("block", "block_size_tokens"),
                      ("init_s", "init_s"), ("mode", "mode")):  # fmt: skip
        value = document.get(key)
        if isinstance(value, (int, float)) and abs(value) < 1e15:
            facts[ours] = value
        elif isinstance(value, str):
            facts[ours] = value[:40]
    times = document.get("decode_step_us")
    if isinstance(times, dict):
        facts["decode_step_us"] = {
            str(size)[:12]: value
            for size, value in times.items()
            if isinstance(value, (int, float)) and 0 < value < 1e12
        }
    if {"kv_blocks", "block_size_tokens"} <= set(facts):
        facts["kv_tokens"] = facts["kv_blocks"] * facts["block_size_tokens"]
    return facts


def _sizes(config: Any) -> tuple[int, ...]:
    text = str(config)[:20_000].strip("[] ")
    parts = [part.strip() for part in text.split(",")]
    return tuple(sorted({int(p) for p in parts if p.isdigit() and 0 < int(p) < 2**31}))


FORMAT = Format("engine-run", "recorded engine run (JSON)", detect, read_engine_run)
