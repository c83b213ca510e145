"""Bare arrays of numbers -> requests: one column of lengths, pairs, or arrival and pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import FileContentError
from core.readers.common.cells import MAX_COUNT
from core.readers.common.clock import Clock
from core.readers.common.columns import label_of
from core.readers.common.drops import Drops
from core.readers.common.reasons import Reasons
from core.readers.common.requests import Notes, Requests, no_rows, requests_reading
from core.readers.common.table import FAILED
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Grade, SizeUnit, StepHistogram

ROLES = {
    1: ("prompt_tokens",),
    2: ("prompt_tokens", "output_tokens"),
    3: ("arrival", "prompt_tokens", "output_tokens"),
}
FIRST_ROW = 1


def array_reading(
    array: NDArray[Any], name: str, label: str, file: str, options: ReadOptions, notes: Notes
) -> Reading:
    """(n,) lengths, (n, 2) prompt and output, (n, 3) arrival, prompt and output.

    Raises FileContentError for any other shape.
    """
    table = array.reshape(-1, 1) if array.ndim == 1 else array
    if table.ndim != 2 or table.shape[1] not in ROLES:
        shape = " x ".join(str(size) for size in array.shape) or "none"
        raise FileContentError(
            f"{file}: an array of shape {shape}; lengths are n, prompt and output n x 2, with "
            "arrivals in front n x 3."
        )
    roles = ROLES[table.shape[1]]
    if table.shape[1] == 1 and options.histogram_of == "output":
        roles = ("output_tokens",)
    drops = Drops()
    columns = {role: table[:, i] for i, role in enumerate(roles)}
    clock = Clock(options.time_unit)
    requests = requests_of(columns, drops, clock)
    if options.histogram_of == "batch" and len(roles) == 1:
        return _steps(requests, name, label, file, drops)
    notes.columns = {role: f"column {i}" for i, role in enumerate(roles, 1)}
    if "arrival" in columns:
        notes.facts["time_unit"] = clock.description
    if len(roles) == 1 and options.histogram_of is None:
        notes.warnings.append("Read as prompt lengths; say so if they are outputs.")
    if len(roles) == 2:
        notes.warnings.append("Read as prompt and output tokens, in this order.")
    return requests_reading(name, label, file, requests, drops, notes, options)


def _steps(requests: Requests, name: str, label: str, file: str, drops: Drops) -> Reading:
    """One number a step, as the user says."""
    sizes = requests.prompt_tokens
    if sizes is None or len(sizes) == 0:
        raise no_rows(file, label, drops)
    return Reading(
        format=name,
        label=label,
        grade=Grade.STEPS,
        rows=len(sizes) + drops.total,
        kept=len(sizes),
        steps=StepHistogram.from_batches(sizes, unit=SizeUnit.REQUESTS, source=file),
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        facts={"histogram_of": "batch"},
    )


def requests_of(columns: dict[str, NDArray[Any]], drops: Drops, clock: Clock) -> Requests:
    """Columns of numbers of any type; rows that are no counts go to drops (rows from 1)."""
    n = len(next(iter(columns.values())))
    reasons = Reasons(n)
    for role, values in columns.items():
        if role == "arrival":
            if values.dtype.kind == "f":
                reasons.mark(~np.isfinite(values), "arrival is blank")
        else:
            mark_counts(values, role, reasons)
    keep = reasons.settle(FIRST_ROW, drops)
    if keep is None:
        keep = np.ones(n, bool)
    counts = {
        role: values[keep].astype(np.int64) for role, values in columns.items() if role != "arrival"
    }
    arrival = None
    if "arrival" in columns:
        raw = columns["arrival"][keep]
        raw = raw.astype(np.float64) if raw.dtype.kind == "f" else _as_int64(raw)
        arrival = clock.numbers(raw)
    return Requests(counts.get("prompt_tokens"), counts.get("output_tokens"), arrival)


def _as_int64(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "u" and len(values) and values.max() > np.iinfo(np.int64).max:
        return values.astype(np.float64)
    return values.astype(np.int64)


def mark_counts(values: NDArray[Any], role: str, reasons: Reasons) -> None:
    """Note rows whose value is no count: blank, a fraction, too large, 0 or below."""
    label = label_of(role)
    if values.dtype.kind != "f" and len(values) and values.min() >= 1 and values.max() <= MAX_COUNT:
        return
    if values.dtype.kind == "f":
        blank = ~np.isfinite(values)
        reasons.mark(blank, f"{label} is blank")
        with np.errstate(invalid="ignore"):
            reasons.mark(np.floor(values) != values, f"{label} is not a whole number")
    reasons.mark(values > MAX_COUNT, f"{label} is above {MAX_COUNT:,}")
    if role == "output_tokens":
        reasons.mark(values == 0, FAILED)
    reasons.mark(values < 1, f"{label} is below 1")
