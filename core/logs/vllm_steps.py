"""Lines of vLLM that tell of steps: iteration details, forward times, running requests."""

from __future__ import annotations

import re
from typing import NamedTuple

INTERVAL_S = 10.0
"""Seconds between two lines of statistics, VLLM_LOG_STATS_INTERVAL's default."""
ITERATION = "Iteration("
FORWARD = "Batchsize forward time stats"
STATISTICS = "Avg prompt throughput"

_ITERATION = re.compile(
    r"Iteration\(\d+\): (\d{1,9}) context requests, (\d{1,9}) context tokens, "
    r"(\d{1,9}) generation requests, (\d{1,9}) generation tokens, "
    r"iteration elapsed time: (\d{1,9}(?:\.\d+)?) ms( \(dummy\))?"
)
_TRIPLE = re.compile(r"\((\d{1,9}), (\d{1,9}), (\d{1,9}(?:\.\d+)?)\)")
_RUNNING = re.compile(
    r"(?:(Engine \d+|\d+ Engines Aggregated): )?Avg prompt throughput: .{0,400}?"
    r"Running: (\d{1,9}) reqs"
)


class Iteration(NamedTuple):
    """One step (--enable-logging-iteration-details, from 0.15).

    prompts, prompt_tokens : requests in prefill and their tokens; rows, tokens : those decoding
    ms : of the step alone; dummy : an idle data-parallel rank kept in step
    """

    prompts: int
    prompt_tokens: int
    rows: int
    tokens: int
    ms: float
    dummy: bool = False

    @property
    def all_tokens(self) -> int:
        return self.prompt_tokens + self.tokens


def iteration(message: str) -> Iteration | None:
    """None where the line is cut, or another."""
    match = _ITERATION.search(message)
    if match is None:
        return None
    numbers = [int(match[place]) for place in range(1, 5)]
    return Iteration(*numbers, ms=float(match[5]), dummy=match[6] is not None)


def forward_times(message: str) -> tuple[tuple[int, int, float], ...] | None:
    """(padded size, steps since the start, median ms) of VLLM_LOG_BATCHSIZE_INTERVAL."""
    _, found, rest = message.partition(FORWARD)
    if not found:
        return None
    return tuple((int(a), int(b), float(c)) for a, b, c in _TRIPLE.findall(rest))


def running(message: str) -> tuple[int, bool] | None:
    """(running requests at that moment, whether several engines are added up)."""
    match = _RUNNING.search(message)
    return (int(match[2]), "Aggregated" in (match[1] or "")) if match else None
