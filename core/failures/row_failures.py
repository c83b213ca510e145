"""Why a measured row failed: the first cause and what to do, from the row's own error.

A row's error is one line: a sentence of the worker, or class and first line of an exception that
came up while that size was run, captured or replayed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.diagnose import diagnose
from core.failures.capture_errors import OUT_OF_MEMORY
from core.records import MeasureRow


@dataclass(frozen=True)
class RowFailure:
    """Rows that failed for one reason, in the order in which they were given.

    error : the first row's; klass : as core.diagnose names it, or the worker's own kind
    """

    sizes: tuple[int, ...]
    error: str
    klass: str
    cause: str
    remedy: str


_KNOWN: tuple[tuple[str, re.Pattern[str], str, str], ...] = (
    (
        "does_not_fit",
        re.compile(r"do(?:es)? not fit"),
        "The KV cache of so many requests at this context, beside the weights, is larger than the "
        "memory that is free.",
        "Measure smaller sizes or a shorter context, or free memory on the card.",
    ),
    (
        "data_dependent_shape",
        re.compile(r"cannot be captured: .*shape depends on values"),
        "The step makes a result whose shape depends on values; the look before the capture found "
        "it, with file and line.",
        "Use where, a mask, a top-k of fixed size, nonzero_static or output_size= in that line.",
    ),
    (
        "h2d_copy",
        re.compile(r"cannot be captured: .*memory that is not pinned"),
        "The step copies from pageable host memory; the look before the capture found it, with "
        "file and line.",
        "Allocate on the device before the capture and refill with copy_ before each replay.",
    ),
    (
        "host_sync",
        re.compile(r"cannot be captured: .*(?:reads a value on the CPU|waits for the device)"),
        "The step waits for the device on the CPU; the look before the capture found it, with file "
        "and line.",
        "Compute on the device and keep the value there, or read it before the step.",
    ),
    (
        "process_killed",
        re.compile(r"process ended with signal 9\b"),
        "The measuring process was killed: by the system when the host's memory ran out, or by "
        "hand.",
        "Look for the kill in the system's log (dmesg), free host memory, and measure again.",
    ),
    (
        "process_crashed",
        re.compile(r"process ended with (?:signal|exit code) \d+"),
        "The measuring process crashed in native code: a kernel, a library or the driver.",
        "Read its last words in the error and the worker's output; with a step of your own, run it "
        "eagerly first.",
    ),
    (
        "oom_in_row",
        re.compile(rf"Memory ran out for|{OUT_OF_MEMORY.pattern}", re.I),
        "Memory ran out at this size: weights, KV cache and what the step and its graph hold "
        "together are more than the card has free.",
        "Measure smaller sizes or a shorter context; see that nothing else uses the card.",
    ),
)
UNKNOWN = (
    "No known error of capturing, and no exception that tells more.",
    "Measure this size alone again, and read the worker's output from its start.",
)


def row_failure(row: MeasureRow) -> RowFailure | None:
    """What went wrong with a row; None where nothing did."""
    if row.error is None:
        return None
    for klass, pattern, cause, remedy in _KNOWN:
        if pattern.search(row.error):
            return RowFailure((row.size,), row.error, klass, cause, remedy)
    first = diagnose(row.error).first if row.error.strip() else None
    if first is None:
        return RowFailure((row.size,), row.error, "other_error", *UNKNOWN)
    return RowFailure((row.size,), row.error, first.klass, first.cause, first.remedy)


def row_failures(rows: Sequence[MeasureRow]) -> tuple[RowFailure, ...]:
    """Of all failed rows, those of one reason together."""
    found: dict[tuple[str, str], RowFailure] = {}
    for row in rows:
        failure = row_failure(row)
        if failure is not None:
            key = failure.klass, failure.cause
            known = found.get(key)
            sizes = (*known.sizes, *failure.sizes) if known else failure.sizes
            found[key] = replace(known or failure, sizes=sizes)
    return tuple(found.values())
