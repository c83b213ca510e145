"""Engine logs as readings: which files they are, their messages, and what they state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from core.logs.collect import LogForm
from core.logs.lines import LogLine, messages, wrapped_text
from core.logs.prefix import strip_ansi
from core.logs.record import EngineLog
from core.readers.common.bucketed import sums_reading
from core.readers.common.drops import Drops
from core.readers.common.head import Head
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.reading import Reading
from core.records import BucketSet, Grade, SizeUnit, StepHistogram

NO_STEPS = (
    "No step sizes in this log: only what the engine said of its graphs and memory was read. {how}"
)
MAX_LINE_BYTES = 32 << 20


def detect_log(head: Head, marks: re.Pattern[str]) -> bool:
    """Whether the beginning holds a message of the engine, also in JSON lines of a collector."""
    if not head.is_text or marks.search(strip_ansi(head.text)) is None:
        return False
    shape = head.json
    if shape is None:
        return True
    return shape.lines and any(wrapped_text(row) is not None for row in shape.sample)


def iter_log(source: Source, wanted: re.Pattern[bytes]) -> Iterator[LogLine]:
    """Messages that can matter."""
    return messages(source.lines(MAX_LINE_BYTES, wanted), wanted)


def read_stated(source: Source, form: LogForm) -> EngineLog:
    """What a log states, of which nothing else is asked."""
    found = form.begin()
    for line in iter_log(source, form.wanted):
        found.feed(line)
    return found.finish()


def notes_of(log: EngineLog, engine: str) -> Notes:
    """Facts and sentences of a log."""
    return Notes(facts={"engine": engine, **log.flat()}, warnings=list(log.warnings))


def captured_set(
    log: EngineLog, label: str, unit: SizeUnit | None = None, sizes: tuple[int, ...] = ()
) -> BucketSet | None:
    """The list that a log states; sizes : a list told elsewhere in it."""
    sizes = sizes or log.sizes or ()
    if not sizes:
        return None
    return BucketSet(label, sizes) if unit is None else BucketSet(label, sizes, unit)


def log_reading(
    form: LogForm,
    log: EngineLog,
    notes: Notes,
    steps: StepHistogram | None = None,
    rows: int = 0,
    drops: Drops | None = None,
    captured: BucketSet | None = None,
    how: str = "",
) -> Reading:
    """Grade A with steps, D without.

    how : what the user can do to have steps logged
    """
    drops = drops or Drops()
    reading = step_reading((form.name, form.label), steps, rows, drops, notes, how)
    return replace(reading, captured=captured, log=log)


def step_reading(
    form: tuple[str, str],
    steps: StepHistogram | None,
    rows: int,
    drops: Drops,
    notes: Notes,
    how: str = "",
) -> Reading:
    """As log_reading, from a file that states nothing else. form : name and label."""
    name, label = form
    if steps is None:
        return sums_reading(name, label, rows, drops, notes, [NO_STEPS.format(how=how).strip()])
    return Reading(
        format=name,
        label=label,
        grade=Grade.STEPS,
        rows=rows,
        kept=rows - drops.total,
        steps=steps,
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        warnings=tuple(notes.warnings),
        facts=notes.facts,
    )
