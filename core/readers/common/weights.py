"""Weighted lengths: counts or shares, and the Reading they make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.errors import FileContentError
from core.readers.common.cells import is_blank, plain_number
from core.readers.common.drops import Drops
from core.readers.common.lengths import clipping_warning, merged_histogram
from core.readers.reading import Reading
from core.records import Grade, LengthHistogram, SizeUnit, StepHistogram

ZERO_COUNT = "count is 0"
SHARE_TOLERANCE = 1e-3
MAX_WEIGHT = 10**12
"""A count above this is no count, and sums of such counts would leave 64 bits."""


def parse_weight(value: Any, decimal: str = ".") -> float | str:
    """A count, or a share with or without a percent sign; a reason where it is neither."""
    text = "" if value is None else str(value)[:64]
    if is_blank(text):
        return "count is blank"
    number = None if isinstance(value, bool) else plain_number(text.rstrip("% "), decimal)
    if number is None or not math.isfinite(float(number)):
        return "count is not a number"
    weight = float(number)
    if weight > MAX_WEIGHT:
        return f"count is above {MAX_WEIGHT:,}"
    return ZERO_COUNT if weight == 0 else "count is below 0" if weight < 0 else weight


class Weights:
    """Lengths and their counts or shares, as they come."""

    def __init__(self, said_shares: bool = False) -> None:
        self.lengths: list[int] = []
        self.weights: list[float] = []
        self._said_shares = said_shares

    def add(self, length: int, weight: float, percent: bool = False) -> None:
        self.lengths.append(length)
        self.weights.append(weight)
        self._said_shares |= percent

    @property
    def is_share(self) -> bool:
        """Fractions or percentages: they count nothing, they only have a shape."""
        return self._said_shares or any(weight != int(weight) for weight in self.weights)

    def histogram(self, what: str) -> LengthHistogram:
        weights = np.array(self.weights)
        if not self.is_share:
            weights = weights.astype(np.int64)
        return merged_histogram(np.array(self.lengths, np.int64), weights, what, self.is_share)


def _warnings(kind: str, said: bool, histograms: list[LengthHistogram]) -> list[str]:
    warnings = []
    first = histograms[0]
    if first.is_share:
        total = float(first.counts.sum())
        known = any(abs(total - whole) <= SHARE_TOLERANCE * whole for whole in (1.0, 100.0))
        warnings.append(
            "The counts are shares: the shape is known, the number of requests is not"
            + ("." if known else f" (they sum to {total:.4g}, not to 1 or 100).")
        )
    if not said and kind == "prompt":
        warnings.append("Read as prompt lengths; say so if they are outputs or batch sizes.")
    for histogram in histograms:
        warnings += clipping_warning(histogram, histogram.what)
    return warnings


def histogram_reading(
    form: str,
    label: str,
    name: str,
    pairs: Mapping[str, Weights],
    kind: str,
    said: bool,
    drops: Drops,
    columns: Mapping[str, str] | None = None,
    all_columns: tuple[str, ...] = (),
) -> Reading:
    """Grade A for batches, C for lengths.

    pairs : "length" and, beside prompts, "output_tokens". kind : prompt, output or batch.
    said : whether the file or the user says so. Raises FileContentError for shares of batches.
    """
    kept = len(pairs["length"].lengths)
    steps = prompt = output = None
    first = pairs["length"].histogram(kind)
    warnings: list[str] = []
    if kind == "batch":
        if first.is_share:
            raise FileContentError(
                f"{name}: counts of steps must be whole numbers; give counts instead of shares."
            )
        steps = StepHistogram(first.lengths, first.counts, SizeUnit.REQUESTS, source=name)
    else:
        prompt, output = (first, None) if kind == "prompt" else (None, first)
        if "output_tokens" in pairs and kind == "prompt":
            output = pairs["output_tokens"].histogram("output")
        warnings = _warnings(kind, said, [h for h in (prompt, output) if h is not None])
    return Reading(
        format=form,
        label=label,
        grade=Grade.STEPS if steps is not None else Grade.LENGTHS,
        rows=kept + drops.total,
        kept=kept,
        prompt_lengths=prompt,
        output_lengths=output,
        steps=steps,
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        columns=dict(columns or {}),
        all_columns=all_columns,
        warnings=tuple(warnings),
        facts={"histogram_of": kind},
    )
