"""LMDeploy's log: running requests at each line of statistics, a coarse sample.

Source: LMDeploy 0.18.0.
"""

from __future__ import annotations

from collections import Counter

from core.logs.lmdeploy import FORM, running
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_reading import detect_log, iter_log, log_reading, notes_of
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Origin, SizeUnit, StepHistogram

SAMPLED = (
    "Running requests sampled at each line: a coarse picture of step sizes, no count of steps."
)
HOW = "Keep LMDeploy's lines of statistics in the log."
IDLE = "sample without a running request"


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, FORM.marks)


def read_lmdeploy_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A, sampled."""
    drops, found = Drops(), FORM.begin()
    samples: Counter[int] = Counter()
    for line in iter_log(source, FORM.wanted):
        seen = running(line.message)
        if seen is None:
            found.feed(line)
        elif seen:
            samples[seen] += 1
        else:
            drops.add(IDLE, line.number)
    log = found.finish()
    notes = notes_of(log, "LMDeploy")
    steps = None
    if samples:
        notes.warnings.append(SAMPLED)
        steps = StepHistogram.from_mapping(
            samples, unit=SizeUnit.REQUESTS, origin=Origin.ESTIMATED, source="LMDeploy, sampled"
        )
    rows = samples.total() + drops.total
    return log_reading(FORM, log, notes, steps, rows, drops, how=HOW)


FORMAT = Format(FORM.name, FORM.label, detect, read_lmdeploy_log, FORM.rank, FORM.marks)
