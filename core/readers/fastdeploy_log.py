"""FastDeploy's log at DEBUG: the unpadded and padded size of every step.

Source: FastDeploy's graph optimisation backend.
"""

from __future__ import annotations

import re
from collections import Counter

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_facts import log_reading, sizes_in
from core.readers.common.log_text import detect_log, interest, iter_log
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, Origin, SizeUnit, StepHistogram

MARKS = re.compile(r"\[CUDA GRAPH\]|CUDAGraph capture list \[|real shape obtained by CUDAGraph")
HOW = "Run FastDeploy with its log level at DEBUG to have every step logged."
CUT = "line is cut or damaged"
_STEP = re.compile(r"obtained by CUDAGraph is\s*:\s*(\d{1,9}), The padded shape is\s*:\s*(\d{1,9})")
_LIST = re.compile(r"CUDAGraph capture list \[([\d,\s]*)\]")
WANTED = interest(r"CUDAGraph")


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, MARKS)


def read_fastdeploy_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A where steps are logged, D otherwise."""
    drops, notes = Drops(), Notes(facts={"engine": "FastDeploy"})
    sizes: Counter[int] = Counter()
    capture_sizes: tuple[int, ...] = ()
    rows = padding = 0
    for line in iter_log(source, WANTED):
        if "obtained by CUDAGraph" in line.message:
            rows += 1
            match = _STEP.search(line.message)
            if match is None or int(match[1]) == 0:
                drops.add(CUT, line.number)
            else:
                sizes[int(match[1])] += 1
                padding += max(0, int(match[2]) - int(match[1]))
        elif match := _LIST.search(line.message):
            capture_sizes = sizes_in(match[1])
    if sizes:
        notes.facts["padding_slots"] = padding
    steps = None
    if sizes:
        steps = StepHistogram.from_mapping(
            sizes, unit=SizeUnit.TOKENS, origin=Origin.MEASURED, source="FastDeploy steps"
        )
    captured = BucketSet("captured by FastDeploy", capture_sizes) if capture_sizes else None
    return log_reading((FORMAT.name, FORMAT.label), steps, rows, drops, notes, captured, HOW)


FORMAT = Format("fastdeploy-log", "FastDeploy log", detect, read_fastdeploy_log, 24, MARKS)
