"""Requests through a started engine at their arrival times, every step and request written down."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.metrics import percentiles
from gpu_worker.driven.contract import Driver, StepRecord
from gpu_worker.driven.steps import Prompts

NAP_S = 0.001
"""Longest sleep while no request is there; shorter than any step."""
STEP_COLUMNS = (
    *("start_s", "duration_s", "running_before", "waiting_before", "running_after"),
    *("rows", "tokens", "padded", "mode", "card_s"),
)
REQUEST_COLUMNS = (
    *("id", "arrival_s", "prompt_tokens", "output_tokens"),
    *("first_token_s", "last_token_s", "tokens"),
)


@dataclass
class Served:
    """One request on its way. Times from the start of the replay [s]."""

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    first_s: float = 0.0
    last_s: float = 0.0
    tokens: int = 0


@dataclass
class Log:
    """What is written down while it runs; no more than lists, so that it costs little."""

    steps: list[StepRecord] = field(default_factory=list)
    served: dict[str, Served] = field(default_factory=dict)
    gaps_s: list[float] = field(default_factory=list)

    def take(self, step: StepRecord) -> None:
        """A step that ended: its tokens came out when it did."""
        self.steps.append(step)
        for name, tokens in step.counts.items():
            one = self.served[name]
            new = tokens - one.tokens
            if new <= 0:
                continue
            if one.tokens == 0:
                one.first_s = step.end_s
            else:
                self.gaps_s.append(step.end_s - one.last_s)
            self.gaps_s.extend([0.0] * (new - 1))  # tokens of one step come out together
            one.last_s, one.tokens = step.end_s, tokens


def replay(
    driver: Driver, prompts: Prompts, requests: Sequence[tuple[float, int, int]]
) -> dict[str, Any]:
    """Serve (arrival_s, prompt_tokens, output_tokens), ascending by arrival.

    Returns {"steps", "requests", "itl_s"} as plain JSON types, times from the replay's start.
    """
    texts = [prompts.of(prompt) for _, prompt, _ in requests]  # before the clock runs
    log = Log()
    gc.collect()  # what came before is not the engine's to collect
    _serve(driver, requests, texts, log, time.perf_counter())
    return _document(log)


def _serve(
    driver: Driver,
    requests: Sequence[tuple[float, int, int]],
    texts: Sequence[Sequence[int]],
    log: Log,
    base: float,
) -> None:
    coming = 0
    while coming < len(requests) or driver.busy:
        now = time.perf_counter() - base
        while coming < len(requests) and requests[coming][0] <= now:
            arrival, prompt, output = requests[coming]
            log.served[driver.add(texts[coming], output)] = Served(arrival, prompt, output)
            coming += 1
        if not driver.busy:
            time.sleep(min(NAP_S, max(0.0, requests[coming][0] - now)))
            continue
        log.take(_from_base(driver.step(), base))


def _from_base(step: StepRecord, base: float) -> StepRecord:
    # Not dataclasses.replace, which costs more than all the rest of the loop.
    object.__setattr__(step, "start_s", step.start_s - base)
    return step


def _document(log: Log) -> dict[str, Any]:
    gaps = percentiles(np.array(log.gaps_s, np.float64))
    return {
        "step_columns": list(STEP_COLUMNS),
        "steps": [_step_row(step) for step in log.steps],
        "request_columns": list(REQUEST_COLUMNS),
        "requests": [_request_row(name, one) for name, one in log.served.items()],
        "itl_s": {name: getattr(gaps, name) for name in ("p50", "p90", "p99", "mean", "count")},
    }


def _step_row(step: StepRecord) -> list[Any]:
    return [
        *(round(step.start_s, 6), round(step.wall_s, 6)),
        *(step.running_before, step.waiting_before, step.running_after),
        *(step.rows, step.tokens, step.padded, step.mode),
        None if step.card_s is None else round(step.card_s, 6),
    ]


def _request_row(name: str, one: Served) -> list[Any]:
    return [
        *(name, one.arrival_s, one.prompt_tokens, one.output_tokens),
        *(round(one.first_s, 6), round(one.last_s, 6), one.tokens),
    ]
