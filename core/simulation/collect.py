"""From the loop's ticks and counts to a SimulationResult, with what was assumed in words."""

from __future__ import annotations

import numpy as np

from core.records import FloatArray, IntArray, Origin, SizeUnit, StepHistogram, Trace
from core.simulation.kernel.names import (
    CACHED,
    DECODE_TICKS,
    GAP_BITS,
    IDLE,
    MIXED_TICKS,
    NOW,
    PEAK,
    PREEMPTIONS,
    RECOMPUTED,
    ROW_TICKS,
    SAMPLED,
)
from core.simulation.load import TICKS_PER_S
from core.simulation.machine import Machine
from core.simulation.readiness import rejection
from core.simulation.result import Series, SimulationResult
from core.simulation.state import Engine
from core.simulation.step_times import StepTimes


def collect(
    trace: Trace,
    machine: Machine,
    times: StepTimes,
    served: IntArray,
    engine: Engine,
    scalars: IntArray,
) -> SimulationResult:
    """The result of a finished run."""
    refused = np.ones(len(trace), bool)
    refused[served] = False
    rejected = np.flatnonzero(refused).astype(np.int64)
    busy = int(scalars[DECODE_TICKS] + scalars[MIXED_TICKS])
    makespan = float(scalars[NOW]) / TICKS_PER_S
    itl, counts = _gaps(engine.gaps)
    return SimulationResult(
        trace=trace,
        machine=machine,
        times=times,
        decode_steps=_steps(engine.decode_steps, SizeUnit.REQUESTS, makespan, trace.name),
        mixed_steps=_steps(engine.mixed_steps, SizeUnit.TOKENS, makespan, trace.name),
        mixed_rows=engine.mixed_rows,
        running_steps=_steps(
            engine.decode_steps + engine.mixed_running, SizeUnit.REQUESTS, makespan, trace.name
        ),
        arrival_s=_seconds(engine.arrival, served, len(trace)),
        first_token_s=_seconds(engine.first, served, len(trace)),
        finish_s=_seconds(engine.finish, served, len(trace)),
        rejected=rejected,
        makespan_s=makespan,
        decode_s=float(scalars[DECODE_TICKS]) / TICKS_PER_S,
        mixed_s=float(scalars[MIXED_TICKS]) / TICKS_PER_S,
        idle_s=float(scalars[IDLE]) / TICKS_PER_S,
        preemptions=int(scalars[PREEMPTIONS]),
        recomputed_tokens=int(scalars[RECOMPUTED]),
        cached_tokens=int(scalars[CACHED]),
        peak_kv_tokens=int(scalars[PEAK]) * machine.block_size_tokens,
        mean_decoding=float(scalars[ROW_TICKS]) / busy if busy else 0.0,
        itl_s=itl,
        itl_counts=counts,
        series=_series(engine, int(scalars[SAMPLED]), machine),
        notes=_notes(trace, machine, times, rejected, int(scalars[CACHED])),
    )


def _seconds(ticks: IntArray, served: IntArray, count: int) -> FloatArray:
    """(count,) [s]; NaN where not served."""
    result = np.full(count, np.nan)
    result[served] = ticks / TICKS_PER_S
    return result


def _steps(counts: IntArray, unit: SizeUnit, makespan_s: float, source: str) -> StepHistogram:
    sizes = np.flatnonzero(counts).astype(np.int64)
    return StepHistogram(
        sizes,
        counts[sizes],
        unit=unit,
        origin=Origin.ESTIMATED,
        duration_s=makespan_s,
        source=f"simulated from {source}" if source else "simulated",
    )


def _gaps(bins: IntArray) -> tuple[FloatArray, IntArray]:
    """Middle of each used bin [s], and how many inter-token times fell in it."""
    used = np.flatnonzero(bins)
    shift = np.maximum((used >> GAP_BITS) - 1, 0)
    low = (used - (shift << GAP_BITS)) << shift
    middle = low + ((np.int64(1) << shift) - 1) / 2
    return middle / TICKS_PER_S, bins[used]


def _series(engine: Engine, count: int, machine: Machine) -> Series:
    return Series(
        engine.series_time[:count] / TICKS_PER_S,
        engine.series_running[:count].copy(),
        engine.series_waiting[:count].copy(),
        engine.series_blocks[:count] * machine.block_size_tokens,
    )


def _notes(
    trace: Trace, machine: Machine, times: StepTimes, rejected: IntArray, cached_tokens: int
) -> tuple[str, ...]:
    source = times.source.removeprefix(f"{times.origin.value}: ")
    notes = [f"Estimated by simulation; step times {times.origin.value}: {source}."]
    if len(rejected):
        notes.append(rejection(trace, machine, rejected))
    for what, lengths in (("prompt", trace.prompt_tokens), ("output", trace.output_tokens)):
        if empty := int((lengths == 0).sum()):
            end = "they run as 1 token." if what == "prompt" else "they end with their prefill."
            notes.append(f"{empty:,} requests have {what} length 0; {end}")
    if machine.draft_tokens:
        notes.append(
            f"Speculation: {machine.draft_tokens} drafts a step, of which every request accepts "
            f"alike, {machine.tokens_emitted:.3g} tokens a step in the mean; drafting itself takes "
            "no time beyond what the step times hold."
        )
    if cached_tokens:
        notes.append(
            f"A prefix cache spares {cached_tokens:,} prompt tokens; it never evicts, so this is "
            "an upper bound, and it saves no KV blocks: each request holds its whole prompt."
        )
    return tuple(notes)
