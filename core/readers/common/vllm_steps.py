"""Steps of a vLLM log, counted: iterations, forward times, running requests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from core.logs.lines import LogLine
from core.logs.vllm_steps import INTERVAL_S, ITERATION, forward_times, iteration, running
from core.readers.common.drops import Drops
from core.records import Origin, SizeUnit, StepHistogram

MAX_SIZES = 100_000
DUMMY = "idle step of a data-parallel rank (dummy)"
EMPTY = "step without tokens"
CUT = "line is cut or damaged"
AGGREGATED = "running requests of several engines together"
IDLE = "sample without a running request"


@dataclass
class Iterations:
    """--enable-logging-iteration-details: every step, exactly."""

    drops: Drops
    sizes: Counter[int] = field(default_factory=Counter)
    rows: int = 0
    decode_steps: int = 0
    elapsed_ms: float = 0.0

    def feed(self, line: LogLine) -> bool:
        if ITERATION not in line.message:
            return False
        self.rows += 1
        step = iteration(line.message)
        if step is None:
            self.drops.add(CUT, line.number)
            return True
        tokens = step.all_tokens
        if step.dummy or tokens == 0:
            self.drops.add(DUMMY if step.dummy else EMPTY, line.number)
            return True
        self.elapsed_ms += step.ms
        self.decode_steps += step.prompts == 0
        if tokens in self.sizes or len(self.sizes) < MAX_SIZES:
            self.sizes[tokens] += 1
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

    last: dict[str, tuple[tuple[int, int, float], ...]] = field(default_factory=dict)
    rows: int = 0

    def feed(self, line: LogLine) -> bool:
        found = forward_times(line.message)
        if found is None:
            return False
        self.rows += 1
        self.last[line.speaker] = found
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
        seen = running(line.message)
        if seen is None:
            return False
        self.rows += 1
        requests, aggregated = seen
        if aggregated:
            self.drops.add(AGGREGATED, line.number)
        elif requests == 0:
            self.drops.add(IDLE, line.number)
        elif requests in self.samples or len(self.samples) < MAX_SIZES:
            self.samples[requests] += 1
        return True

    def histogram(self) -> StepHistogram | None:
        if not self.samples:
            return None
        return StepHistogram.from_mapping(
            self.samples, unit=SizeUnit.REQUESTS, origin=Origin.ESTIMATED,
            duration_s=INTERVAL_S * self.samples.total(), source="vLLM running requests, sampled",
        )  # fmt: skip
