"""TensorRT-LLM's iteration log (print_iter_log), all three forms, and its start-up lines.

A decode step is one without context requests. The device time in a line belongs to the step before.
Source: TensorRT-LLM's PyTorch backend (docs/formats.md).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from core.logs.trtllm import FORM
from core.logs.trtllm_steps import ITERATION, Iteration, iteration
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
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Origin, SizeUnit, StepHistogram

HOW = "Set print_iter_log: true to have every step logged."
OTHER_RANK = "the same step on another rank"
PREFILL = "step that also held prefill"
CUT = "line is cut or damaged"
IDLE = "step without requests"
MAX_TIMES = 20_000


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, FORM.marks)


class Steps:
    """Iteration lines of one rank."""

    def __init__(self, drops: Drops) -> None:
        self.drops = drops
        self.sizes: Counter[int] = Counter()
        self.rows = 0
        self.mixed = 0
        self._rank: str | None = None
        self._before: int | None = None
        self._times: dict[int, tuple[int, float]] = {}

    def feed(self, number: int, step: Iteration) -> None:
        self.rows += 1
        if step.rank:
            self._rank = self._rank or step.rank
            if step.rank != self._rank:
                self.drops.add(OTHER_RANK, number)
                return
        if step.scheduled is None or step.prompts is None:
            self.drops.add(CUT, number)
            self._before = None
            return
        self._time(step.device_ms)
        size = step.scheduled
        self._before = size if step.prompts == 0 and size else None
        if size == 0:
            self.drops.add(IDLE, number)
        elif step.prompts:
            self.mixed += 1
            self.drops.add(PREFILL, number)
        else:
            self.sizes[size] += 1

    def _time(self, device_ms: float | None) -> None:
        if device_ms is not None and self._before is not None and len(self._times) < MAX_TIMES:
            count, total = self._times.get(self._before, (0, 0.0))
            self._times[self._before] = (count + 1, total + device_ms)

    def facts(self) -> dict[str, Any]:
        if not self.rows:
            return {}
        means = {str(s): round(total / n, 4) for s, (n, total) in sorted(self._times.items())}
        return {"mixed_steps": self.mixed, **({"mean_step_ms": means} if means else {})}


def read_trtllm_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A: every decode step of one rank."""
    drops, found = Drops(), FORM.begin()
    steps = Steps(drops)
    for line in iter_log(source, FORM.wanted):
        if ITERATION in line.message:
            steps.feed(line.number, iteration(line.message))
        else:
            found.feed(line)
    log = found.finish()
    notes = notes_of(log, "TensorRT-LLM")
    notes.facts.update(steps.facts())
    histogram = None
    if steps.sizes:
        histogram = StepHistogram.from_mapping(
            steps.sizes, unit=SizeUnit.REQUESTS, origin=Origin.MEASURED,
            source="TensorRT-LLM iteration log",
        )  # fmt: skip
    captured = captured_set(log, "captured by TensorRT-LLM")
    return log_reading(FORM, log, notes, histogram, steps.rows, drops, captured, HOW)


FORMAT = Format(FORM.name, FORM.label, detect, read_trtllm_log, FORM.rank, FORM.marks)
