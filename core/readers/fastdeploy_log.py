"""FastDeploy's log at DEBUG: the unpadded and padded size of every step.

Source: FastDeploy's graph optimisation backend.
"""

from __future__ import annotations

from collections import Counter

from core.logs.fastdeploy import FORM, STEP, step
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
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Origin, SizeUnit, StepHistogram

HOW = "Run FastDeploy with its log level at DEBUG to have every step logged."
CUT = "line is cut or damaged"


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, FORM.marks)


def read_fastdeploy_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A where steps are logged, D otherwise."""
    drops, found = Drops(), FORM.begin()
    sizes: Counter[int] = Counter()
    rows = padding = 0
    for line in iter_log(source, FORM.wanted):
        if STEP not in line.message:
            found.feed(line)
            continue
        rows += 1
        seen = step(line.message)
        if seen is None or seen[0] == 0:
            drops.add(CUT, line.number)
        else:
            sizes[seen[0]] += 1
            padding += max(0, seen[1] - seen[0])
    log = found.finish()
    notes = notes_of(log, "FastDeploy")
    steps = None
    if sizes:
        notes.facts["padding_slots"] = padding
        steps = StepHistogram.from_mapping(
            sizes, unit=SizeUnit.TOKENS, origin=Origin.MEASURED, source="FastDeploy steps"
        )
    captured = captured_set(log, "captured by FastDeploy")
    return log_reading(FORM, log, notes, steps, rows, drops, captured, HOW)


FORMAT = Format(FORM.name, FORM.label, detect, read_fastdeploy_log, FORM.rank, FORM.marks)
