"""From requests to step sizes and latencies: continuous batching, simulated.

The rules stand in core/simulation/kernel/__init__.py, what is assumed in the result's notes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core.errors import SettingError
from core.records import IntArray, StepCost, Trace
from core.simulation.collect import collect
from core.simulation.compiled import compiled_advance, is_loaded, numba_installed
from core.simulation.kernel.loop import advance
from core.simulation.kernel.names import CLOCK_END, DONE, NOW, STUCK
from core.simulation.load import TICKS_PER_S, can_be_served, check_trace, serving_load
from core.simulation.machine import MODES, Machine, Mode
from core.simulation.profile_times import family_times, prefill_from_profile
from core.simulation.readiness import warnings_before
from core.simulation.result import Latency, Series, SimulationResult
from core.simulation.state import Engine, Rules, as_arrays, as_lists, new_engine
from core.simulation.step_times import (
    PrefillCost,
    StepTimes,
    assumed_prefill,
    step_times,
)

__all__ = [
    "MODES",
    "Latency",
    "Machine",
    "Mode",
    "PrefillCost",
    "Series",
    "SimulationResult",
    "StepTimes",
    "assumed_prefill",
    "can_be_served",
    "family_times",
    "prefill_from_profile",
    "simulate",
    "simulate_times",
    "step_times",
    "warnings_before",
]

COMPILE_FROM = 100_000
"""Requests from which compiling pays: fewer take plain Python a few seconds, and so does numba
where its cache on disk is empty."""
SLICE = 20_000
"""Events between two calls of `progress`."""

Progress = Callable[[float], None]


def simulate(
    trace: Trace,
    machine: Machine,
    cost: StepCost,
    capture_sizes: Sequence[int] | IntArray | None,
    *,
    progress: Progress | None = None,
    prefill: PrefillCost | None = None,
    concurrency: int | None = None,
    buckets: IntArray | None = None,
    compiled: bool | None = None,
) -> SimulationResult:
    """Run the requests of a trace through an engine that has these graphs.

    capture_sizes : in the unit of the cost; None: every step runs eager
    progress : called now and then with the share of requests done, 0 to 1
    prefill : time of prompts and context; None takes `assumed_prefill(cost)`
    concurrency : closed loop, so many requests in flight, arrivals of the trace ignored
    buckets : what decode steps replay by an engine's own rule, see `step_times`
    compiled : by numba or as plain Python, which give the same; None chooses by the work
    A request of 0 output tokens ends with its prefill; one of 0 prompt tokens counts as 1.
    A request that can never fit into the KV cache is rejected, counted and named;
    `warnings_before` tells beforehand.
    Raises SettingError, CaptureSizesError.
    """
    times = step_times(cost, machine, capture_sizes, prefill, buckets)
    return simulate_times(
        trace, machine, times, progress=progress, concurrency=concurrency, compiled=compiled
    )


def simulate_times(
    trace: Trace,
    machine: Machine,
    times: StepTimes,
    *,
    progress: Progress | None = None,
    concurrency: int | None = None,
    compiled: bool | None = None,
) -> SimulationResult:
    """The same with step times that are known already."""
    check_trace(trace, concurrency)
    served, load = serving_load(trace, machine)
    _check_clock(load.output, machine, times)
    rules = _rules(machine, times)
    engine, scalars = new_engine(load, rules, concurrency)
    if _should_compile(compiled, len(load.output)):
        _drive(compiled_advance(), engine, scalars, progress)
    else:
        lists, values = as_lists(engine, scalars)
        _drive(advance, lists, values, progress)
        engine, scalars = as_arrays(lists, values)
    return collect(trace, machine, times, served, engine, scalars)


def _should_compile(asked: bool | None, requests: int) -> bool:
    """Raises SettingError if the compiled loop was asked for and cannot be had."""
    if asked and not numba_installed():
        raise SettingError("numba is not installed; leave compiled out to run as plain Python.")
    if asked is not None:
        return asked
    return numba_installed() and (is_loaded() or requests >= COMPILE_FROM)


def _ticks(us: np.ndarray | float) -> IntArray:
    """Microseconds in whole ticks; (n,) of 0 or more."""
    return np.rint(np.asarray(us) * (TICKS_PER_S / 1_000_000)).astype(np.int64)


def _rules(machine: Machine, times: StepTimes) -> Rules:
    return Rules(
        machine.blocks,
        machine.block_size_tokens,
        machine.max_num_seqs,
        machine.max_num_batched_tokens,
        machine.mode == "separate",
        machine.whole_prompt_must_fit,
        machine.draft_tokens,
        machine.emit_fraction,
        _ticks(times.decode_us),
        np.maximum(_ticks(times.decode_floor_us), 1),  # a step takes time, or the clock stands
        _ticks(times.mixed_us),
        np.maximum(_ticks(times.mixed_floor_us), 1),
        *(int(_ticks(us)) for us in (times.context_us, times.mixed_context_us)),
        *(int(_ticks(us)) for us in (times.pair_us, times.prompt_us, times.mixed_row_us)),
    )


def _check_clock(output: IntArray, machine: Machine, times: StepTimes) -> None:
    """A run of steps must not overflow 64 bits; only absurd step times could."""
    longest_s = times.longest_us(machine.kv_tokens) / 1e6
    most = int(output.max()) if len(output) else 1
    if not longest_s * most < CLOCK_END / TICKS_PER_S:
        raise SettingError(
            f"A step of {longest_s:.3g} s repeated for {most:,} tokens is more than the simulated "
            "clock holds; check the units of the step cost."
        )


def _drive(
    step: Callable[..., int],
    engine: Engine,
    scalars: IntArray | list[int],
    progress: Progress | None,
) -> None:
    count = len(engine.output)
    while scalars[DONE] < count:
        step(engine, scalars, SLICE)
        if scalars[NOW] >= CLOCK_END:
            days = CLOCK_END / TICKS_PER_S / 86_400
            raise SettingError(
                f"The simulated clock passed {days:.0f} days; split the trace or raise the load."
            )
        assert not scalars[STUCK], "the engine had work but scheduled nothing"
        if progress is not None:
            progress(float(scalars[DONE] / count))
