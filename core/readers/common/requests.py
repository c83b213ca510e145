"""Requests as they were found -> a Reading: sorted, counted, with what the user should know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.errors import FileContentError
from core.readers.common.clock import ABSURD_RPS, spread_ticks
from core.readers.common.drops import Drops
from core.readers.common.lengths import clipping_warning, length_histogram
from core.readers.common.ties import backward_steps, tie_counts
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import FloatArray, Grade, IntArray, Trace

TICK_SHARE = 0.2
"""More requests than this sharing an arrival are worth a warning."""
SLOW_GAP_S = 60.0

NO_ARRIVALS = "There are no arrival times; give a request rate to go on."


@dataclass
class Requests:
    """Arrays of equal length, in the order of the file; None where the file cannot tell."""

    prompt_tokens: IntArray | None
    output_tokens: IntArray | None
    arrival_s: FloatArray | None = None
    prefix_hit_tokens: IntArray | None = None

    def __len__(self) -> int:
        for array in (self.prompt_tokens, self.output_tokens):
            if array is not None:
                return len(array)
        return 0


@dataclass
class Notes:
    """What a reader says beside the numbers."""

    warnings: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    all_columns: tuple[str, ...] = ()


def requests_reading(
    name: str,
    label: str,
    file: str,
    requests: Requests,
    drops: Drops,
    notes: Notes,
    options: ReadOptions,
) -> Reading:
    """The Reading of a request trace: grade B with arrivals, C without.

    name, label : of the format. file : of the upload, for messages and Trace.name.
    Raises FileContentError when no row is left.
    """
    kept = len(requests)
    if kept == 0:
        raise no_rows(file, label, drops)
    warnings = list(notes.warnings)
    facts = dict(notes.facts)
    prompt, output = requests.prompt_tokens, requests.output_tokens
    arrival, prefix = requests.arrival_s, requests.prefix_hit_tokens
    if arrival is not None:
        arrival, prompt, output, prefix = _in_order(arrival, prompt, output, prefix, warnings)
        arrival = _told(arrival, facts, warnings, options)
    histograms = {
        "prompt": None if prompt is None else length_histogram(prompt, "prompt"),
        "output": None if output is None else length_histogram(output, "output"),
    }
    for what, histogram in histograms.items():
        warnings += clipping_warning(histogram, what)
    trace = None
    if prompt is not None and output is not None:
        trace = Trace(prompt, output, arrival, prefix, file)
    else:
        missing = "prompt" if prompt is None else "output"
        warnings.append(f"There is no column of {missing} tokens, so requests cannot be simulated.")
    has_arrivals = trace is not None and arrival is not None
    if arrival is None:
        warnings.append(NO_ARRIVALS)
    return Reading(
        format=name,
        label=label,
        grade=Grade.REQUESTS if has_arrivals else Grade.LENGTHS,
        rows=kept + drops.total,
        kept=kept,
        trace=trace,
        prompt_lengths=histograms["prompt"],
        output_lengths=histograms["output"],
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        columns=dict(notes.columns),
        all_columns=notes.all_columns,
        warnings=tuple(warnings),
        facts=facts,
    )


def no_rows(file: str, label: str, drops: Drops) -> FileContentError:
    """Nothing was left: the most frequent reasons in one sentence."""
    reasons = sorted(drops.counts.items(), key=lambda item: -item[1])[:3]
    why = "; ".join(f"{reason} ({rows:,} rows)" for reason, rows in reasons) or "it has no rows"
    return FileContentError(
        f"{file}: read as {label}, but no row can be used: {why}. "
        "Check the columns chosen, or the file."
    )


def _in_order(
    arrival: FloatArray,
    prompt: IntArray | None,
    output: IntArray | None,
    prefix: IntArray | None,
    warnings: list[str],
) -> tuple[FloatArray, IntArray | None, IntArray | None, IntArray | None]:
    """Sorted by arrival (ties keep the order of the file) and starting at 0."""
    backwards = backward_steps(arrival)
    if backwards:
        warnings.append(
            f"{backwards:,} rows arrive before the row above them; rows were sorted by arrival."
        )
        order = np.argsort(arrival, kind="stable")
        arrival = arrival[order]
        prompt, output, prefix = (
            None if array is None else array[order] for array in (prompt, output, prefix)
        )
    if arrival[0]:
        arrival = np.subtract(arrival, arrival[0], out=arrival)  # ours alone
    return arrival, prompt, output, prefix


def _told(
    arrival: FloatArray, facts: dict[str, Any], warnings: list[str], options: ReadOptions
) -> FloatArray:
    """Arrivals, spread if asked; ticks and odd rates are said."""
    n, duration = len(arrival), float(arrival[-1])
    distinct, sharing = tie_counts(arrival)
    if duration > 0 and n / duration > ABSURD_RPS:
        warnings.append(
            f"{n:,} requests in {duration:.3g} s is more than any single trace has; "
            "the time unit is probably another one: choose it."
        )
    if n > 1 and duration > 0 and duration / (n - 1) > SLOW_GAP_S and n > 20:
        warnings.append(
            f"Requests are {duration / (n - 1):,.0f} s apart on average; "
            "if that is too slow, choose another time unit."
        )
    if n > 1 and duration == 0:
        warnings.append("All requests arrive at one instant, so the request rate is undefined.")
    facts["distinct_arrivals"] = distinct
    if sharing > TICK_SHARE * n and distinct > 1:
        tick_s = float(np.median(np.diff(np.unique(arrival))))
        facts["tick_s"] = round(tick_s, 6)
        if options.spread_ticks:
            warnings.append(
                f"{sharing:,} of {n:,} requests shared an instant (ticks of about {tick_s:.3g} s); "
                "they were spread evenly up to the next one."
            )
        else:
            warnings.append(
                f"{sharing:,} of {n:,} requests share an instant: arrivals stand on ticks of about "
                f"{tick_s:.3g} s, so bursts of {n / distinct:.1f} on average are an artefact; "
                "spread them over the tick."
            )
    return spread_ticks(arrival) if options.spread_ticks else arrival
