"""vLLM's log: step sizes by the best source it has, and what it says of graphs and memory.

Best first: "CUDAGraph Stats" tables, iteration details, forward times, running requests.
Source: message formats of releases 0.8 to 0.33 (docs/formats.md).
"""

from __future__ import annotations

import re

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_facts import Progress, log_reading
from core.readers.common.log_text import detect_log, interest, iter_log
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.common.vllm_startup import StartUp
from core.readers.common.vllm_steps import ForwardTimes, Iterations, Running
from core.readers.common.vllm_tables import GraphTables
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, SizeUnit, StepHistogram

MARKS = re.compile(
    r"CUDAGraph (?:Config Settings|Stats)|Unpadded Tokens\s*\|\s*Padded Tokens"
    r"|Iteration\(\d+\): \d+ context requests|Batchsize forward time stats"
    r"|Avg prompt throughput: [\d.]+ tokens/s.{0,400}?Running: \d+ reqs"
    r"|Graph capturing finished in|LLM engine \(v[\d.]+|Capturing CUDA graph"
    r"|Truncating max_cudagraph_capture_size|Available KV cache memory: "
    r"|GPU KV cache size: [\d,]+ tokens|Estimated CUDA graph memory"
)
HOW = "Start vLLM with --cudagraph-metrics, or --enable-logging-iteration-details."
SAMPLED = (
    "Running requests sampled every ten seconds: a coarse picture of step sizes, no count of "
    "steps. " + HOW
)
PADDED = (
    "Sizes are those after padding, of steps that occurred at least twice: they show which graphs "
    "ran, not what was asked. " + HOW
)
WANTED = interest(
    r"\|", r"[Cc][Uu][Dd][Aa]\s?[Gg]raph", r"Capture sizes", r"- Mode:", r"Iteration\(",
    r"Batchsize", r"Maximum", r"Avg prompt", r"GiB", r"KV cache", r"engine", r"max_",
    r"num_spec", r"blocks", r"took", r"[Gg]raph", r"memory", r"^[\d,\s\]]+$",
)  # fmt: skip


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, MARKS)


def read_vllm_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Tables are reset after each print: counts are added over the file and its engines."""
    drops = {name: Drops() for name in ("tables", "iterations", "forward", "running")}
    tables, iterations = GraphTables(drops["tables"]), Iterations(drops["iterations"])
    forward, running = ForwardTimes(), Running(drops["running"])
    start, progress = StartUp(), Progress()
    for line in iter_log(source, WANTED):
        if iterations.feed(line) or forward.feed(line) or running.feed(line):
            continue
        tables.feed(line)
        start.feed(line.message)
        progress.feed(line.message)
    tables.end()
    notes = Notes(warnings=tables.warnings, facts={"engine": "vLLM"})
    notes.warnings += [*start.finish(), *progress.warnings()]
    for facts in (start.facts, progress.facts(), iterations.facts(), forward.facts()):
        notes.facts.update(facts)
    notes.facts.update(tables.facts)
    sizes = tables.capture_sizes or start.sizes
    captured = BucketSet("captured by vLLM", sizes, SizeUnit.TOKENS) if sizes else None
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
    form = (FORMAT.name, FORMAT.label)
    return log_reading(form, steps, rows, drops[name], notes, captured, HOW)


Found = tuple[str, StepHistogram | None, int, str]


def _best(found: tuple[Found, ...]) -> Found:
    """The first source with steps; without any, the first with rows."""
    for item in found:
        if item[1] is not None:
            return item
    return next((item for item in found if item[2]), found[0])


FORMAT = Format("vllm-log", "vLLM log", detect, read_vllm_log, 20, MARKS)
