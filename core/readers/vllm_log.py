"""vLLM's log: "CUDAGraph Stats" tables, and what else it says about steps, graphs and memory.

Source: message formats of releases 0.8 to 0.33 (docs/formats.md).
"""

from __future__ import annotations

import re

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_text import iter_log, strip_ansi
from core.readers.common.source import Source
from core.readers.common.vllm_tables import GraphTables
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, Grade, Origin, SizeUnit, StepHistogram

MARKS = re.compile(r"CUDAGraph (?:Config Settings|Stats)|Unpadded Tokens\s*\|\s*Padded Tokens")


def detect(head: Head, options: ReadOptions) -> bool:
    return head.is_text and head.json is None and bool(MARKS.search(strip_ansi(head.text)))


def read_vllm_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Tables are reset after each print: counts are added over the file and its engines."""
    drops = Drops()
    tables = GraphTables(drops)
    for line in iter_log(source):
        tables.feed(line)
    tables.end()
    steps = None
    if tables.sizes:
        steps = StepHistogram.from_mapping(
            tables.sizes,
            unit=SizeUnit.TOKENS,
            origin=Origin.MEASURED,
            duration_s=tables.duration_s,
            source="vLLM CUDAGraph Stats",
        )
    captured = None
    if tables.capture_sizes:
        captured = BucketSet("captured by vLLM", tables.capture_sizes, SizeUnit.TOKENS)
    return Reading(
        format=FORMAT.name,
        label=FORMAT.label,
        grade=Grade.STEPS,
        rows=tables.rows,
        kept=tables.rows - drops.total,
        steps=steps,
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        warnings=tuple(tables.warnings),
        facts=tables.facts,
        captured=captured,
    )


FORMAT = Format("vllm-log", "vLLM log", detect, read_vllm_log)
