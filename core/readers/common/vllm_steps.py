"""Lines of a vLLM log that tell step sizes: iterations, forward times, running requests."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from core.readers.common.drops import Drops
from core.readers.common.log_text import LogLine
from core.records import Origin, SizeUnit, StepHistogram

INTERVAL_S = 10.0
"""Seconds between two lines of statistics, VLLM_LOG_STATS_INTERVAL's default."""
MAX_SIZES = 100_000
DUMMY = "idle step of a data-parallel rank (dummy)"
EMPTY = "step without tokens"
CUT = "line is cut or damaged"
AGGREGATED = "running requests of several engines together"
IDLE = "sample without a running request"

_ITERATION = re.compile(
    r"Iteration\(\d+\): (\d{1,9}) context requests, (\d{1,9}) context tokens, "
    r"(\d{1,9}) generation requests, (\d{1,9}) generation tokens, "
    r"iteration elapsed time: (\d{1,9}(?:\.\d+)?) ms( \(dummy\))?"
)
FORWARD = "Batchsize forward time stats"
_TRIPLE = re.compile(r"\((\d{1,9}), (\d{1,9}), (\d{1,9}(?:\.\d+)?)\)")
_RUNNING = re.compile(r"(?:(Engine \d+|\d+ Engines Aggregated): )?Avg prompt throughput: .{0,400}?"
                      r"Running: (\d{1,9}) reqs")  # fmt: skip


@dataclass
class Iterations:
    """--enable-logging-iteration-details: every step, exactly."""

    drops: Drops
    sizes: Counter[int] = field(default_factory=Counter)
    total_ms: Counter[int] = field(default_factory=Counter)
    rows: int = 0
    decode_steps: int = 0
    elapsed_ms: float = 0.0

    def feed(self, line: LogLine) -> bool:
        if "Iteration(" not in line.message:
            return False
        self.rows += 1
        match = _ITERATION.search(line.message)
        if match is None:
            self.drops.add(CUT, line.number)
            return True
        context, tokens = int(match[1]), int(match[2]) + int(match[4])
        if match[6] or tokens == 0:
            self.drops.add(DUMMY if match[6] else EMPTY, line.number)
            return True
        elapsed = float(match[5])
        self.elapsed_ms += elapsed
        self.decode_steps += context == 0
        if tokens in self.sizes or len(self.sizes) < MAX_SIZES:
            self.sizes[tokens] += 1
            if context == 0:
                self.total_ms[tokens] += elapsed  # type: ignore[assignment]
        return True

    def histogram(self) -> StepHistogram | None:
        if not self.sizes:
            return None
        return StepHistogram.from_mapping(
            self.sizes, unit=SizeUnit.TOKENS, origin=Origin.MEASURED,
            duration_s=self.elapsed_ms / 1e3, source="vLLM iteration details",
            decode_only=self.decode_steps == self.sizes.total(),
        )  # fmt: skip

    def facts(self) -> dict[str, Any]:
        if not self.rows:
            return {}
        steps = sum(self.sizes.values())
        return {"decode_steps": self.decode_steps, "mixed_steps": steps - self.decode_steps}


@dataclass
class ForwardTimes:
    """VLLM_LOG_BATCHSIZE_INTERVAL: padded sizes, counts since the start, median times."""

    last: dict[str, list[tuple[int, int, float]]] = field(default_factory=dict)
    rows: int = 0

    def feed(self, line: LogLine) -> bool:
        _, found, rest = line.message.partition(FORWARD)
        if not found:
            return False
        self.rows += 1
        triples = _TRIPLE.findall(rest)
        self.last[line.process] = [(int(a), int(b), float(c)) for a, b, c in triples]
        return True

    def histogram(self) -> StepHistogram | None:
        sizes: Counter[int] = Counter()
        for triples in self.last.values():
            for size, count, _ in triples:
                if size > 0:
                    sizes[size] += count
        if not any(sizes.values()):
            return None
        return StepHistogram.from_mapping(
            sizes, unit=SizeUnit.TOKENS, origin=Origin.MEASURED, source="vLLM forward times"
        )

    def facts(self) -> dict[str, Any]:
        times = {str(size): ms for triples in self.last.values() for size, _, ms in triples}
        return {"median_step_ms": times} if times else {}


@dataclass
class Running:
    """The line every ten seconds: running requests at that moment, a coarse sample."""

    drops: Drops
    samples: Counter[int] = field(default_factory=Counter)
    rows: int = 0

    def feed(self, line: LogLine) -> bool:
        if "Avg prompt throughput" not in line.message:
            return False
        match = _RUNNING.search(line.message)
        if match is None:
            return False
        self.rows += 1
        if "Aggregated" in (match[1] or ""):
            self.drops.add(AGGREGATED, line.number)
        elif int(match[2]) == 0:
            self.drops.add(IDLE, line.number)
        elif int(match[2]) in self.samples or len(self.samples) < MAX_SIZES:
            self.samples[int(match[2])] += 1
        return True

    def histogram(self) -> StepHistogram | None:
        if not self.samples:
            return None
        return StepHistogram.from_mapping(
            self.samples, unit=SizeUnit.REQUESTS, origin=Origin.ESTIMATED,
            duration_s=INTERVAL_S * self.samples.total(), source="vLLM running requests, sampled",
        )  # fmt: skip
