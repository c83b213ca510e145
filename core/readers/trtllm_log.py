"""TensorRT-LLM's iteration log (print_iter_log), all three forms, and its start-up lines.

A decode step is one without context requests. The device time in a line belongs to the step before.
Source: TensorRT-LLM's PyTorch backend (docs/formats.md).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_facts import Progress, log_reading, note_facts, rule
from core.readers.common.log_text import detect_log, interest, iter_log
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, Origin, SizeUnit, StepHistogram

MARKS = re.compile(
    r"iter = \d+, (?:global_rank|rank) = |Creating CUDA graph instances for \d+ batch sizes"
    r"|CUDA graph warmup.{0,80}? for batch size=\d+|\[TRT-LLM\] \[[A-Z]\]"
)
HOW = "Set print_iter_log: true to have every step logged."
OTHER_RANK = "the same step on another rank"
PREFILL = "step that also held prefill"
CUT = "line is cut or damaged"
IDLE = "step without requests"
RULES = (
    rule("Creating CUDA graph", r"instances for (?P<graphs>\d+) batch sizes"),
    rule("max memory in KV cache", r"KV cache\s*: (?P<kv_gib>[\d.]{1,12}) GiB"),
    rule("max tokens in paged KV", r"KV cache \((?P<kv_tokens>\d+)\)"),
    rule("max_batch_size=", r"max_batch_size=(?P<max_batch_size>\d+)"),
    rule("max_num_tokens=", r"max_num_tokens=(?P<max_num_tokens>\d+)"),
    rule("max_seq_len=", r"max_seq_len=(?P<max_model_len>\d+)"),
    rule("Memory used outside torch", r": (?P<outside_torch_gib>[\d.]{1,12}) GiB"),
)
_SCHEDULED = re.compile(r"num_scheduled_requests\s*[:=]\s*(\d{1,9})")
_RANK = re.compile(r"global_rank = (\d{1,6})")
_CONTEXT = re.compile(r"'num_ctx_requests': (\d{1,9})")
_DEVICE = re.compile(r"prev_device_step_time = (\d{1,9}(?:\.\d+)?)ms")
_WARM = re.compile(r"CUDA graph warmup.{0,80}? for batch size=(\d{1,9})")
WANTED = interest(r"iter = ", r"[Gg]raph", r"KV cache", r"max_", r"[Mm]emory", r"%\|")


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, MARKS)


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

    def feed(self, number: int, text: str) -> None:
        self.rows += 1
        rank = _RANK.search(text)
        if rank:
            self._rank = self._rank or rank[1]
            if rank[1] != self._rank:
                self.drops.add(OTHER_RANK, number)
                return
        scheduled, context = _SCHEDULED.search(text), _CONTEXT.search(text)
        if scheduled is None or context is None:
            self.drops.add(CUT, number)
            self._before = None
            return
        self._time(text)
        size = int(scheduled[1])
        self._before = size if int(context[1]) == 0 and size else None
        if size == 0:
            self.drops.add(IDLE, number)
        elif int(context[1]):
            self.mixed += 1
            self.drops.add(PREFILL, number)
        else:
            self.sizes[size] += 1

    def _time(self, text: str) -> None:
        device = _DEVICE.search(text)
        if device and self._before is not None and len(self._times) < 20_000:
            count, total = self._times.get(self._before, (0, 0.0))
            self._times[self._before] = (count + 1, total + float(device[1]))

    def facts(self) -> dict[str, Any]:
        if not self.rows:
            return {}
        means = {str(s): round(total / n, 4) for s, (n, total) in sorted(self._times.items())}
        return {"mixed_steps": self.mixed, **({"mean_step_ms": means} if means else {})}


def read_trtllm_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A: every decode step of one rank."""
    drops, notes = Drops(), Notes(facts={"engine": "TensorRT-LLM"})
    steps, progress = Steps(drops), Progress()
    warmed: set[int] = set()
    for line in iter_log(source, WANTED):
        text = line.message
        if "iter = " in text:
            steps.feed(line.number, text)
            continue
        note_facts(RULES, text, notes.facts)
        progress.feed(text)
        if match := _WARM.search(text):
            warmed.add(int(match[1]))
    notes.facts.update({**progress.facts(), **steps.facts()})
    notes.warnings += progress.warnings()
    sizes = tuple(sorted(size for size in warmed if size > 0))
    captured = BucketSet("captured by TensorRT-LLM", sizes) if sizes else None
    histogram = None
    if steps.sizes:
        histogram = StepHistogram.from_mapping(
            steps.sizes, unit=SizeUnit.REQUESTS, origin=Origin.MEASURED,
            source="TensorRT-LLM iteration log",
        )  # fmt: skip
    form = (FORMAT.name, FORMAT.label)
    return log_reading(form, histogram, steps.rows, drops, notes, captured, HOW)


FORMAT = Format("trtllm-log", "TensorRT-LLM log", detect, read_trtllm_log, 22, MARKS)
