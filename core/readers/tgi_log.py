"""TGI's log: the sizes it captured, memory before and after, blocks of the KV cache.

Lines are text or JSON. Source: text-generation-inference 3.3.
"""

from __future__ import annotations

import re

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_facts import log_reading, note_facts, rule, sizes_in
from core.readers.common.log_text import detect_log, interest, iter_log
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, SizeUnit

MARKS = re.compile(
    r"Cuda Graphs are (?:enabled for sizes|disabled)|Using default cuda graphs \["
    r"|Free memory before the warmup|Free RAM before cuda graph|text_generation_(?:router|launcher)"
)
HOW = "Scrape its metrics instead: tgi_batch_next_size counts every batch size."
RULES = (
    rule("KV-cache blocks", r"blocks: (?P<kv_blocks>\d+), size: (?P<block_size_tokens>\d+)"),
    rule("before the warmup", r"warmup: (?P<free_before_warmup_mb>[\d.]{1,12}) MB"),
    rule("allocating the cache", r"cache: (?P<free_after_cache_mb>[\d.]{1,12}) MB"),
    rule("memory used for CUDA graphs", r"graphs: (?P<graph_mb>[\d.]{1,12}) MB"),
    rule("Total memory available", r"available: (?P<available_mb>[\d.]{1,12}) MB"),
    rule("Free RAM before", r"graphs? (?P<free_before_graphs_gb>[\d.]{1,12})\s*GB"),
    rule("Free RAM after", r"graphs? (?P<free_after_graphs_gb>[\d.]{1,12})\s*GB"),
)
_SIZES = re.compile(r"(?:enabled for sizes|default cuda graphs) \[([\d,\s]*)\]")
WANTED = interest(r"[Gg]raphs", r"[Mm]emory", r"KV-cache", r"RAM")


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, MARKS)


def read_tgi_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: captures and memory; TGI logs no step sizes."""
    notes = Notes(facts={"engine": "TGI"})
    sizes: tuple[int, ...] = ()
    for line in iter_log(source, WANTED):
        note_facts(RULES, line.message, notes.facts)
        if match := _SIZES.search(line.message):
            sizes = sizes_in(match[1])
        if "Cuda Graphs are disabled" in line.message:
            notes.warnings.append("CUDA graphs are off.")
    facts = notes.facts
    if {"free_after_cache_mb", "graph_mb"} <= set(facts):
        left = round(float(facts["free_after_cache_mb"]) - float(facts["graph_mb"]), 4)
        facts["free_minus_graphs_mb"] = left
        if "available_mb" in facts:
            facts["consistent"] = abs(left - float(facts["available_mb"])) < 0.05
    captured = BucketSet("captured by TGI", sizes, SizeUnit.REQUESTS) if sizes else None
    return log_reading((FORMAT.name, FORMAT.label), None, 0, Drops(), notes, captured, HOW)


FORMAT = Format("tgi-log", "TGI log", detect, read_tgi_log, 23, MARKS)
