"""ServeGen clients: shares of lengths a window, and rates a window; two files make one client.

The dictionaries are Python literals in texts and are parsed, never evaluated. A window weighs as
many requests as its rate says; without the rates all windows weigh the same, and that is said.
Source: alibaba/ServeGen, data/*/chunk-N-{dataset.json,trace.csv}.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.errors import FileContentError
from core.readers.common.bucketed import sums_reading
from core.readers.common.dialect import Dialect
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.lengths import merged_histogram
from core.readers.common.requests import Notes
from core.readers.common.servegen_parts import (
    OUTPUT,
    Window,
    mean_of,
    mixed,
    windows_of,
)
from core.readers.common.small_table import iter_rows
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Grade, LengthHistogram

FAMILIES = ("gamma", "weibull", "exponential", "")
IDLE = "idle window"
BAD_WINDOW = "window that cannot be read"
EQUAL = (
    "Windows weigh the same, as their request rates are in another file (chunk-N-trace.csv): put "
    "both in one zip to weigh them."
)
SHARES = "Shares of lengths: the shape is known, single requests are not."
ONE_CLIENT = "A chunk is one client of a model; the model's load is the sum over its chunks."


def detect_dataset(head: Head, options: ReadOptions) -> bool:
    document = head.json.document if head.json and not head.json.lines else None
    if not isinstance(document, dict) or not document:
        return False
    first = next(iter(document.values()))
    return (
        all(str(key).lstrip("-").isdigit() for key in list(document)[:20])
        and isinstance(first, dict)
        and OUTPUT in first
        and isinstance(first[OUTPUT], str)
    )


def detect_trace(head: Head, options: ReadOptions) -> bool:
    dialect = head.dialect
    if dialect is None or len(dialect.names) != 6:
        return False
    rows = [row for row in (dialect.header_row, *dialect.sample) if len(row) == 6]
    named = sum(row[3].strip().lower() in FAMILIES[:3] for row in rows)
    return named > 0 and all(row[3].strip().lower() in FAMILIES for row in rows[1:])


def read_servegen(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade C: weighted shares of prompt and output lengths."""
    document = head.json.document if head.json else {}
    windows, drops = windows_of(document)
    rates = _rates_beside(source, options)
    if rates is not None:
        for window in windows:
            window.weight = _requests_in(rates, window.start_s, windows)
    return _dataset_reading(source.name, windows, drops, rates is not None)


def read_servegen_trace(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade D: the request rate over time."""
    drops = Drops()
    rates = rates_of(source, head.dialect, drops)
    if not rates:
        raise FileContentError(f"{source.name}: no window has a request rate.")
    starts = [start for start, _ in rates]
    step = float(np.median(np.diff(starts))) if len(starts) > 1 else 0.0
    values = [rate for _, rate in rates]
    notes = Notes(warnings=[ONE_CLIENT])
    notes.facts.update(
        windows=len(rates),
        window_s=step,
        mean_rate_rps=round(sum(values) / len(values), 6),
        max_rate_rps=max(values),
        expected_requests=round(sum(values) * step, 3),
    )
    say = ["Request rates over time, without lengths: add the chunk's dataset.json (in one zip)."]
    return sums_reading(
        TRACE_FORMAT.name, TRACE_FORMAT.label, len(rates) + drops.total, drops, notes, say
    )


def rates_of(source: Source, dialect: Dialect | None, drops: Drops) -> list[tuple[float, float]]:
    """(start [s], rate [requests/s]) a window; the file has no header."""
    rates = []
    assert dialect is not None
    whole = Dialect(dialect.delimiter, dialect.names, False, ".", 1, dialect.sample)
    for line, row in iter_rows(source, whole):
        try:
            start, rate = float(row[0]), float(row[1])
        except (ValueError, IndexError):
            drops.add(BAD_WINDOW, line)
            continue
        if not (0 <= start < 1e12 and 0 <= rate < 1e9):
            drops.add(BAD_WINDOW, line)
        else:
            rates.append((start, rate))
    return rates


def _rates_beside(source: Source, options: ReadOptions) -> list[tuple[float, float]] | None:
    """Rates from the trace that stands in the same archive."""
    stem = (source.part or "").removesuffix("dataset.json")
    other = f"{stem}trace.csv"
    if not source.part or other not in source.parts:
        return None
    beside = source.sibling(other)
    return rates_of(beside, Head(beside).dialect, Drops())


def _requests_in(rates: list[tuple[float, float]], start_s: float, windows: list[Window]) -> float:
    later = [w.start_s for w in windows if w.start_s > start_s]
    end_s = min(later, default=float("inf"))
    return sum(rate for start, rate in rates if start_s <= start < end_s)


def _dataset_reading(name: str, windows: list[Window], drops: Drops, weighed: bool) -> Reading:
    used = [w for w in windows if w.weight > 0]
    for window in windows:
        if window.weight <= 0:
            drops.add("window without requests", window.number)
    if not used:
        raise FileContentError(f"{name}: every window is idle, so there are no lengths.")
    warnings = [SHARES, ONE_CLIENT] if weighed else [SHARES, EQUAL, ONE_CLIENT]
    if any(len(w.prompts) > 1 for w in used):
        warnings.append(
            "Prompt tokens are those of text, image, audio and video together; they were combined "
            "as if independent."
        )
    facts: dict[str, Any] = {
        "windows": len(used),
        "prompt_mean_tokens": mean_of(used, "prompt"),
        "output_mean_tokens": mean_of(used, "output"),
    }
    return Reading(
        format=FORMAT.name,
        label=FORMAT.label,
        grade=Grade.LENGTHS,
        rows=len(used) + drops.total,
        kept=len(used),
        prompt_lengths=_histogram(used, "prompt"),
        output_lengths=_histogram(used, "output"),
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        warnings=tuple(warnings),
        facts=facts,
    )


def _histogram(windows: list[Window], what: str) -> LengthHistogram | None:
    lengths, shares = mixed(windows, what)
    good = (lengths >= 1) & (shares > 0)
    if not good.any():
        return None
    return merged_histogram(lengths[good], shares[good] / shares[good].sum(), what, True)


FORMAT = Format("servegen", "ServeGen client (dataset.json)", detect_dataset, read_servegen, 12)
TRACE_FORMAT = Format(
    "servegen-trace", "ServeGen request rates (trace.csv)", detect_trace, read_servegen_trace, 12
)
FORMATS_HERE = (TRACE_FORMAT,)
