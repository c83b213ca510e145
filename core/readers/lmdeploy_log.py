"""LMDeploy's log: running requests at each line of statistics, a coarse sample.

Source: LMDeploy 0.18.0.
"""

from __future__ import annotations

import re
from collections import Counter

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_facts import Progress, log_reading, note_facts, rule
from core.readers.common.log_text import detect_log, interest, iter_log
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Origin, SizeUnit, StepHistogram

MARKS = re.compile(r"Engine \(running/waiting\): \d+ / \d+|Warming up decoding")
SAMPLED = (
    "Running requests sampled at each line: a coarse picture of step sizes, no count of steps."
)
HOW = "Keep LMDeploy's lines of statistics in the log."
IDLE = "sample without a running request"
RULES = (rule("Engine warmup completed", r"completed in (?P<capture_s>[\d.]{1,12}) seconds"),)
_RUNNING = re.compile(r"Engine \(running/waiting\): (\d{1,9}) / \d+")
WANTED = interest(r"Engine", r"%\|", r"[Mm]emory")


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, MARKS)


def read_lmdeploy_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A, sampled."""
    drops, notes = Drops(), Notes(facts={"engine": "LMDeploy"})
    progress = Progress()
    samples: Counter[int] = Counter()
    for line in iter_log(source, WANTED):
        if match := _RUNNING.search(line.message):
            if int(match[1]):
                samples[int(match[1])] += 1
            else:
                drops.add(IDLE, line.number)
            continue
        note_facts(RULES, line.message, notes.facts)
        progress.feed(line.message)
    notes.facts.update(progress.facts())
    notes.warnings += progress.warnings()
    steps = None
    rows = samples.total() + drops.total
    if samples:
        notes.warnings.append(SAMPLED)
        steps = StepHistogram.from_mapping(
            samples, unit=SizeUnit.REQUESTS, origin=Origin.ESTIMATED, source="LMDeploy, sampled"
        )
    return log_reading((FORMAT.name, FORMAT.label), steps, rows, drops, notes, None, HOW)


FORMAT = Format("lmdeploy-log", "LMDeploy log", detect, read_lmdeploy_log, 25, MARKS)
