"""mini-sglang's log: the sizes it captures and the memory they take.

Source: mini-sglang of March 2026.
"""

from __future__ import annotations

import re

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_facts import Progress, log_reading, note_facts, rule, sizes_in
from core.readers.common.log_text import detect_log, interest, iter_log
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, SizeUnit

MARKS = re.compile(r"Start capturing CUDA graphs with sizes: \[|Capturing graphs: bs = ")
RULES = (
    rule("before capturing", r"graphs: (?P<free_before_gib>[\d.]{1,12}) GiB"),
    rule("after capturing", r"graphs: (?P<free_after_gib>[\d.]{1,12}) GiB"),
)
_SIZES = re.compile(r"CUDA graphs with sizes: \[([\d,\s]*)\]")
WANTED = interest(r"graphs", r"%\|", r"[Mm]emory")


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, MARKS)


def read_minisglang_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: captures and memory alone."""
    notes, progress = Notes(facts={"engine": "mini-sglang"}), Progress()
    sizes: tuple[int, ...] = ()
    for line in iter_log(source, WANTED):
        note_facts(RULES, line.message, notes.facts)
        progress.feed(line.message)
        if match := _SIZES.search(line.message):
            sizes = sizes_in(match[1])
    facts = notes.facts
    if {"free_before_gib", "free_after_gib"} <= set(facts):
        facts["graph_gib"] = round(facts["free_before_gib"] - facts["free_after_gib"], 4)
    facts.update(progress.facts())
    notes.warnings += progress.warnings()
    captured = BucketSet("captured by mini-sglang", sizes, SizeUnit.REQUESTS) if sizes else None
    return log_reading((FORMAT.name, FORMAT.label), None, 0, Drops(), notes, captured)


FORMAT = Format("minisglang-log", "mini-sglang log", detect, read_minisglang_log, 26, MARKS)
