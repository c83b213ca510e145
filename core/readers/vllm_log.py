"""vLLM's log: step sizes by the best source it has, and what it says of graphs and memory.

Best first: "CUDAGraph Stats" tables, iteration details, forward times, running requests.
Source: message formats of releases 0.8 to 0.33 (docs/formats.md).
"""

from __future__ import annotations

from core.logs.vllm import FORM
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_reading import (
    captured_set,
    detect_log,
    iter_log,
    log_reading,
    notes_of,
)
from core.readers.common.source import Source
from core.readers.common.vllm_steps import ForwardTimes, Iterations, Running
from core.readers.common.vllm_tables import GraphTables
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import SizeUnit, StepHistogram

HOW = "Start vLLM with --cudagraph-metrics, or --enable-logging-iteration-details."
SAMPLED = (
    "Running requests sampled every ten seconds: a coarse picture of step sizes, no count of "
    "steps. " + HOW
)
PADDED = (
    "Sizes are those after padding, of steps that occurred at least twice: they show which graphs "
    "ran, not what was asked. " + HOW
)


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, FORM.marks)


def read_vllm_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Tables are reset after each print: counts are added over the file and its engines."""
    drops = {name: Drops() for name in ("tables", "iterations", "forward", "running")}
    tables, iterations = GraphTables(drops["tables"]), Iterations(drops["iterations"])
    forward, running = ForwardTimes(), Running(drops["running"])
    stated = FORM.begin()
    for line in iter_log(source, FORM.wanted):
        if iterations.feed(line) or forward.feed(line) or running.feed(line):
            continue
        tables.feed(line)
        stated.feed(line)
    tables.end()
    log = stated.finish()
    notes = notes_of(log, "vLLM")
    notes.warnings[:0] = tables.warnings
    for facts in (iterations.facts(), forward.facts(), tables.facts):
        notes.facts.update(facts)
    captured = captured_set(log, "captured by vLLM", SizeUnit.TOKENS, tables.capture_sizes)
    found = (
        ("tables", tables.histogram(), tables.rows, ""),
        ("iterations", iterations.histogram(), iterations.rows, ""),
        ("forward", forward.histogram(), forward.rows, PADDED),
        ("running", running.histogram(), running.rows, SAMPLED),
    )
    notes.facts["sources"] = {name: rows for name, _, rows, _ in found if rows}
    name, steps, rows, say = _best(found)
    if say:
        notes.warnings.append(say)
    return log_reading(FORM, log, notes, steps, rows, drops[name], captured, HOW)


Found = tuple[str, StepHistogram | None, int, str]


def _best(found: tuple[Found, ...]) -> Found:
    """The first source with steps; without any, the first with rows."""
    for item in found:
        if item[1] is not None:
            return item
    return next((item for item in found if item[2]), found[0])


FORMAT = Format(FORM.name, FORM.label, detect, read_vllm_log, FORM.rank, FORM.marks)
