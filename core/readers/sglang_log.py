"""SGLang's log: decode lines (a sample of steps), prefill lines, captures, finished requests.

Source: message formats of releases 0.4.6 to 0.5.23 (docs/formats.md).
"""

from __future__ import annotations

from dataclasses import replace

from core.logs.sglang import FORM
from core.logs.sglang_steps import DECODE, PREFILL, finished, prefill_tokens
from core.readers.common.clock import Clock
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
from core.readers.common.records_in import RecordCollector
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.sglang_lines import DecodeLines, PrefillLines
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Origin, SizeUnit, StepHistogram

DEFAULT_INTERVAL = 40
HOW = "Keep SGLang's decode lines in the log (--decode-log-interval 1 prints every step)."


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, FORM.marks)


def read_sglang_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A: each decode line stands for `decode_log_interval` steps (40 unless said)."""
    drops, finish_drops = Drops(), Drops()
    decode, prefill, found = DecodeLines(drops), PrefillLines(), FORM.begin()
    requests = RecordCollector(Clock(options.time_unit), finish_drops)
    lines = 0
    for line in iter_log(source, FORM.wanted):
        if DECODE in line.message:
            decode.feed(line)
        elif PREFILL in line.message:
            prefill.feed(prefill_tokens(line.message))
        elif (ended := finished(line.message)) is not None:
            lines += 1
            requests.add(line.number, *ended, line.time)
        else:
            found.feed(line)
    log = found.finish()
    notes = notes_of(log, "SGLang")
    notes.facts.update({**decode.facts(), **prefill.facts()})
    if not decode.sizes and lines:
        notes.warnings.append("Arrivals are the times at which requests ended.")
        reading = requests_reading(
            FORMAT.name, FORMAT.label, source.name, requests.finish(), finish_drops, notes, options
        )
        return replace(reading, log=log)
    steps = _steps(decode, notes)
    captured = captured_set(log, "captured by SGLang", SizeUnit.REQUESTS)
    return log_reading(FORM, log, notes, steps, decode.rows, drops, captured, HOW)


def _steps(decode: DecodeLines, notes: Notes) -> StepHistogram | None:
    if not decode.sizes:
        return None
    said = notes.facts.get("decode_log_interval")
    interval = said if isinstance(said, int) and 0 < said < 10**6 else DEFAULT_INTERVAL
    notes.warnings.append(
        f"Decode lines are a sample, one step in {interval}"
        + (" as the server's settings say" if said else " (the default)")
        + ": each was counted as that many steps."
    )
    if decode.accepted > 1:
        notes.warnings.append(
            "Speculative decoding: a graph covers the requests times their draft tokens."
        )
    origin = Origin.MEASURED if interval == 1 else Origin.ESTIMATED
    return StepHistogram.from_mapping(
        {size: interval * n for size, n in decode.sizes.items()},
        unit=SizeUnit.REQUESTS,
        origin=origin,
        duration_s=decode.duration_s(),
        source=f"SGLang decode lines, one in {interval} steps",
    )


FORMAT = Format(FORM.name, FORM.label, detect, read_sglang_log, FORM.rank, FORM.marks)
