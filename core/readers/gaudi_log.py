"""vLLM's log on Gaudi: buckets prepared, warmed up, and missed while serving.

A bucket is (batch size, query length, context blocks). Source: vllm-gaudi of August 2026.
"""

from __future__ import annotations

import re
from collections import Counter

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_facts import log_reading, note_facts, rule
from core.readers.common.log_text import detect_log, interest, iter_log
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, SizeUnit

MARKS = re.compile(
    r"\[Warmup\]\[\w+(?:/\w+)?\]\[\d+/\d+\]|Generated \d+ (?:prompt|decode) buckets"
    r"|HPUGraphs|was not warmed-up!"
)
RULES = (
    rule(
        "Warmup finished", r"in (?P<capture_s>\d+) secs, allocated (?P<graph_gib>[\d.]{1,12}) GiB"
    ),
    rule("reserved for HPUGraphs", r"(?P<reserved_gib>[\d.]{1,12}) GiB reserved for HPUGraphs"),
    rule("Generated", r"Generated (?P<prompt_buckets>\d+) prompt buckets"),
    rule("Generated", r"Generated (?P<decode_buckets>\d+) decode buckets"),
)
_WARMED = re.compile(r"\[Warmup\]\[\w*/?Decode\]\[\d+/\d+\] batch_size:(\d{1,9})", re.IGNORECASE)
_MISSED = re.compile(
    r"Configuration: \('(\w+)', (\d+), (\d+), (\d+)\) was not warmed-up"
    r"|(Decode|Prompt) bucket for \((\d+), (\d+), (\d+)\) was not prepared"
)
WANTED = interest(r"Warmup", r"HPUGraphs", r"Generated", r"warmed-up", r"not prepared")


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, MARKS)


def read_gaudi_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: what was warmed up, and what was not and had to be compiled."""
    notes = Notes(facts={"engine": "vLLM on Gaudi"})
    batches: set[int] = set()
    missed: Counter[str] = Counter()
    for line in iter_log(source, WANTED):
        note_facts(RULES, line.message, notes.facts)
        if match := _WARMED.search(line.message):
            batches.add(int(match[1]))
        if match := _MISSED.search(line.message):
            kind = (match[1] or match[5]).lower()
            missed[f"{kind} {match[2] or match[6]},{match[3] or match[7]}"[:40]] += 1
    if missed:
        notes.facts["missed_buckets"] = dict(missed.most_common(50))
        notes.warnings.append(
            f"{missed.total():,} steps met no prepared bucket and were compiled while serving."
        )
    sizes = tuple(sorted(size for size in batches if size > 0))
    captured = BucketSet("warmed up on Gaudi", sizes, SizeUnit.REQUESTS) if sizes else None
    return log_reading((FORMAT.name, FORMAT.label), None, 0, Drops(), notes, captured)


FORMAT = Format("gaudi-log", "vLLM log on Gaudi", detect, read_gaudi_log, 19, MARKS)
