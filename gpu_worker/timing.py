"""Warm-up, repeats and quartiles; device time by CUDA events, host time by the CPU's clock."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from core.records.measuring import CPU_BUDGET_S, CPU_MIN_SAMPLES

LOOP_STEPS = 20_000
"""Work that tells a fast core from a slow one, half a millisecond or so."""
SAMPLES_A_CORE = 10
"""Samples until the quietest core is looked for again."""


@dataclass(frozen=True)
class Timing:
    """Samples of one action. Arrays are (samples,) [us].

    span_us : from its start on an idle device to its end
    host_us : until the call returned to the CPU, before the device was done
    """

    span_us: np.ndarray
    host_us: np.ndarray

    def quartiles(self) -> tuple[float, float, float]:
        """First quartile, median and third quartile of the span [us]."""
        q1, median, q3 = np.percentile(self.span_us, [25, 50, 75])
        return float(q1), float(median), float(q3)

    def host_median(self) -> float:
        """Median time to submit [us]."""
        return float(np.median(self.host_us))


def sample(action: Callable[[], object], samples: int, warmup: int, device: torch.device) -> Timing:
    """Time an action `samples` times, each on an idle device, after `warmup` untimed ones."""
    gc.disable()  # a collection in the middle of a step would be counted as the step's
    try:
        if device.type == "cuda":
            return _sample_card(action, samples, warmup)
        return _sample_cpu(action, samples, warmup)
    finally:
        gc.enable()


@contextmanager
def on_quiet_core() -> Iterator[None]:
    """Keep this thread on the core that is fastest now, where the system lets it choose.

    Other work on a shared host can halve the speed of single cores, and with it that of eager
    steps, which the host submits (docs/measurements.md). Threads that others started stay free.
    """
    if not hasattr(os, "sched_getaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed, key=_loop_time_s)})
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _loop_time_s(core: int) -> float:
    """Time of a fixed piece of work on a core [s]; the better of two."""
    os.sched_setaffinity(0, {core})
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        for _ in range(LOOP_STEPS):
            pass
        times.append(time.perf_counter() - begin)
    return min(times)


def _sample_card(action: Callable[[], object], samples: int, warmup: int) -> Timing:
    for _ in range(warmup):
        action()
    span, host = np.empty(samples), np.empty(samples)
    for first in range(0, samples, SAMPLES_A_CORE):
        with on_quiet_core():
            for i in range(first, min(first + SAMPLES_A_CORE, samples)):
                span[i], host[i] = _one_on_card(action)
    return Timing(span, host)


def _one_on_card(action: Callable[[], object]) -> tuple[float, float]:
    """Span and time to submit [us] of one call."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    # Idle at the start: the time to submit counts, as it does for an engine's next step.
    torch.cuda.synchronize()
    start.record()
    begin = time.perf_counter()
    action()
    host_s = time.perf_counter() - begin
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3, host_s * 1e6


def _sample_cpu(action: Callable[[], object], samples: int, warmup: int) -> Timing:
    for _ in range(warmup):
        action()
    times: list[float] = []
    deadline = time.perf_counter() + CPU_BUDGET_S
    while len(times) < samples:
        begin = time.perf_counter()
        action()
        times.append((time.perf_counter() - begin) * 1e6)
        if time.perf_counter() > deadline and len(times) >= CPU_MIN_SAMPLES:
            break
    span = np.array(times)
    return Timing(span, span)
