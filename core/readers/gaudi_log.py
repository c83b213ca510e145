"""vLLM's log on Gaudi: buckets prepared, warmed up, and missed while serving.

A bucket is (batch size, query length, context blocks). Source: vllm-gaudi of August 2026.
"""

from __future__ import annotations

from collections import Counter

from core.logs.gaudi import FORM, missed_bucket
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
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import SizeUnit


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, FORM.marks)


def read_gaudi_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: what was warmed up, and what was not and had to be compiled."""
    found = FORM.begin()
    missed: Counter[str] = Counter()
    for line in iter_log(source, FORM.wanted):
        found.feed(line)
        if bucket := missed_bucket(line.message):
            missed[bucket] += 1
    log = found.finish()
    notes = notes_of(log, "vLLM on Gaudi")
    if missed:
        notes.facts["missed_buckets"] = dict(missed.most_common(50))
        notes.warnings.append(
            f"{missed.total():,} steps met no prepared bucket and were compiled while serving."
        )
    captured = captured_set(log, "warmed up on Gaudi", SizeUnit.REQUESTS)
    return log_reading(FORM, log, notes, captured=captured)


FORMAT = Format(FORM.name, FORM.label, detect, read_gaudi_log, FORM.rank, FORM.marks)
