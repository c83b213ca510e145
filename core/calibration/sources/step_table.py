"""A table of steps (CSV): a row a step, or a row a batch size; columns by name, times by unit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from core.calibration.evidence import MAX_STEPS, Evidence, medians, step_samples
from core.calibration.fit import FEWEST
from core.calibration.lockstep import StepSamples
from core.errors import FileContentError
from core.readers.common.cells import plain_number
from core.readers.common.head import Head
from core.readers.common.small_table import iter_rows
from core.readers.common.source import Source
from core.text.counting import counted

COLUMN_MAP = {
    "rows": ("batch", "batchsize", "rows", "running", "numrunning", "decoderequests", "bs")
    + ("generationrequests", "numgenrequests", "size", "requests"),
    "prompts": ("prompts", "contextrequests", "prefillrequests", "numctxrequests"),
    "prompt_tokens": ("prefilltokens", "contexttokens", "numctxtokens", "prompttokens"),
    "context": ("context", "kvtokens", "contextread"),
}
"""Our name: names of columns, in lower case without signs."""
TIME_WORDS = ("step", "time", "latency", "duration", "elapsed", "replay", "graph", "decode", "iter")
NO_TIMES = ("start", "arriv", "end", "capture", "stamp")
UNIT = re.compile(r"(?:(?:^|[^a-z])(s)|(us|ms))[\])]?$")
"""The unit ends the name of a time: step_us, "latency [ms]", iterLatencyMS; "steps" is none."""
FACTORS = {"us": 1.0, "ms": 1e3, "s": 1e6}

Columns = dict[str, tuple[int, float]]


def read(source: Source, head: Head) -> Evidence | None:
    """A row for each of 20 steps or more that repeat sizes: steps; else a table by size.

    Raises FileContentError where no row holds a batch and a time above 0.
    """
    dialect = head.dialect
    if dialect is None or not dialect.has_header or head.json is not None:
        return None
    columns = _columns(dialect.header_row)
    if "rows" not in columns or not {"step", "eager"} & set(columns):
        return None
    rows, bad, beyond = [], 0, 0
    for _, cells in iter_rows(source, dialect):
        row = _row(cells, columns, dialect.decimal)
        if row is None:
            bad += 1
        elif len(rows) < MAX_STEPS:
            rows.append(row)
        else:
            beyond += 1
    if not rows:
        raise FileContentError(f"{source.name}: no row holds a batch of 1 or more and its time.")
    notes = []
    if bad:
        rows_left_out = counted(bad, "rows")
        notes.append(f"Left out: {rows_left_out} without a batch of 1 or more and a time.")
    if beyond:
        notes.append(f"{beyond:,} rows after the first {MAX_STEPS:,} were not looked at.")
    return _evidence(rows, columns, source.name, tuple(notes))


def _columns(names: list[str]) -> Columns:
    """Our name -> (position, factor to microseconds)."""
    found: Columns = {}
    for position, name in enumerate(names):
        plain = re.sub(r"[^a-z0-9]", "", name.lower())
        ours = next((ours for ours, theirs in COLUMN_MAP.items() if plain in theirs), None)
        factor = 1.0
        if ours is None:
            ours, factor = _time(name.lower().replace("µ", "u"))
        if ours:
            found.setdefault(ours, (position, factor))
    return found


def _time(name: str) -> tuple[str, float]:
    """("step" or "eager", factor to microseconds) of a column's name; ("", 0): no step time."""
    unit = UNIT.search(name)
    if unit is None or any(word in name for word in NO_TIMES):
        return "", 0.0
    factor = FACTORS[unit[1] or unit[2]]
    if "eager" in name:
        return "eager", factor
    timed = any(word in name for word in TIME_WORDS) or unit.start() == 0
    return ("step", factor) if timed else ("", 0.0)


def _row(cells: list[str], columns: Columns, decimal: str) -> dict[str, float] | None:
    values = {}
    for name, (position, factor) in columns.items():
        text = plain_number(cells[position], decimal) if position < len(cells) else None
        number = math.nan if text is None else float(text)
        if 0 <= number < 1e9:
            values[name] = number * factor
    timed = values.get("step", 0) > 0 or values.get("eager", 0) > 0
    works = values.get("rows", 0) >= 1 or values.get("prompts", 0) >= 1
    whole = values.get("rows", 0.5) % 1 == 0
    return values if timed and works and whole else None


def _evidence(
    rows: list[dict[str, float]], columns: Columns, name: str, notes: tuple[str, ...]
) -> Evidence:
    sizes = [int(row["rows"]) for row in rows]
    listed = len(rows) >= FEWEST and len(set(sizes)) < len(rows) and "step" in columns
    if listed:
        samples = _samples([row for row in rows if row.get("step", 0) > 0])
        known = "context" in columns
        return Evidence("table of steps", name, samples=samples, has_context=known, notes=notes)
    graph, eager = (
        medians((int(r["rows"]), r[kind]) for r in rows if r.get(kind, 0) > 0 and r["rows"] >= 1)
        for kind in ("step", "eager")
    )
    return Evidence(
        "table of decode steps by batch size",
        name,
        None if graph else (),
        graph_us=graph,
        eager_us=eager,
        notes=notes,
    )


def _samples(rows: list[dict[str, float]]) -> StepSamples:
    def column(name: str, of: Callable[[float], int] = int) -> list[int]:
        return [of(row.get(name, 0.0)) for row in rows]

    decoding, prompt_tokens = column("rows"), column("prompt_tokens")
    prompts = [max(n, int(t > 0)) for n, t in zip(column("prompts"), prompt_tokens, strict=True)]
    tokens = [
        rows + new if count else 0
        for rows, new, count in zip(decoding, prompt_tokens, prompts, strict=True)
    ]
    made = step_samples([row["step"] for row in rows], decoding, prompts, tokens)
    context = np.array(column("context"), np.int64)
    return StepSamples(made.start_s, made.us, made.rows, made.prompts, made.tokens, context,
                       made.pairs)  # fmt: skip
