"""Bucket sets under several loads, each set's graphs taken from the KV cache of its own run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from core.errors import SettingError
from core.memory import graph_bytes
from core.records import Trace
from core.records.sweep import Sweep, SweepRow
from core.serving.spec import SweepPoint, SweepSpec
from core.simulate import COMPILE_FROM, Machine, SimulationResult, simulate
from core.simulation.compiled import numba_installed
from core.trace_changes import scaled_arrivals, with_prefix_hit_rate

# Seconds on one of two busy cores: what a request of about 900 tokens takes in the compiled loop
# and in plain Python (docs/benchmarks.md), and what loading the compiled loop takes.
COMPILED_S, PLAIN_S, LOAD_S = 1e-6, 100e-6, 3.0


def machine_beside_graphs(machine: Machine, graphs: float, kv_bytes_per_token: float) -> Machine:
    """The machine with the KV cache that `graphs` bytes of graph memory leave.

    Raises SettingError if less than a block is left.
    """
    if not kv_bytes_per_token > 0:
        raise SettingError(f"kv_bytes_per_token is {kv_bytes_per_token}; it must be above 0.")
    lost = -int(-graphs // kv_bytes_per_token)
    left = machine.kv_tokens - lost
    if left < machine.block_size_tokens:
        raise SettingError(
            f"The graphs take {graphs / 2**30:.2f} GiB, which is {lost:,} KV tokens of "
            f"{machine.kv_tokens:,}: nothing is left to serve with. Capture fewer or smaller sizes."
        )
    return replace(machine, kv_tokens=left)


def sweep(
    trace: Trace,
    spec: SweepSpec,
    progress: Callable[[float], None] | None = None,
    rows: list[SweepRow] | None = None,
) -> Sweep:
    """Serve the trace with each set under each load.

    progress : called now and then with the share of all runs done
    rows : of the first runs, where they are done already; each new row is added at once, so that
        what is done stays when `progress` raises
    A set that leaves no KV cache, or no room for a step, gets a row that says so.
    Raises SettingError (a trace that cannot run).
    """
    points = spec.points
    rows = [] if rows is None else rows

    def tell(share: float) -> None:
        if progress is not None:
            progress((len(rows) + share) / len(points))

    for point in points[len(rows) :]:
        rows.append(serve_point(trace, spec, point, tell))
        tell(0.0)
    return Sweep(tuple(rows))


def serve_point(
    trace: Trace,
    spec: SweepSpec,
    point: SweepPoint,
    progress: Callable[[float], None] | None = None,
) -> SweepRow:
    """One run of the sweep. progress : called now and then with the share of this run done.

    Raises SettingError (a trace that cannot run).
    """
    row = _empty_row(spec, point)
    try:
        engine = machine_beside_graphs(spec.machine, row.graph_bytes, spec.kv_bytes_per_token)
    except SettingError as error:
        return replace(row, kv_tokens=0, error=str(error))
    result = simulate(
        *(_requests(trace, spec, point), engine, spec.cost, row.sizes or None),
        prefill=spec.prefill,
        concurrency=max(1, round(spec.concurrency * point.load)) if spec.concurrency else None,
        compiled=True if pays_to_compile(spec) else None,
        progress=progress,
    )
    return _served(row, result, spec)


def pays_to_compile(spec: SweepSpec) -> bool:
    """Whether the whole sweep is so long that it is worth loading the compiled loop."""
    return numba_installed() and len(spec.points) * spec.num_requests >= COMPILE_FROM


def sweep_seconds(spec: SweepSpec, done: int = 0) -> float:
    """About how long the sweep takes on one core [s]. done : runs that need not be made again."""
    requests = (len(spec.points) - done) * spec.num_requests
    if pays_to_compile(spec):
        return LOAD_S + COMPILED_S * requests
    return PLAIN_S * requests


def seconds_left(elapsed_s: float, share_before: float, share: float) -> float | None:
    """What is left to do at the speed so far [s]; None while there is none to tell by.

    share_before, share : of the whole, done when the clock was started, and now
    """
    if share <= share_before:
        return None
    return elapsed_s * (1.0 - share) / (share - share_before)


def _requests(trace: Trace, spec: SweepSpec, point: SweepPoint) -> Trace:
    """The requests as they come under this load; in a closed loop arrivals do not matter."""
    if spec.prefix_hit_rate is not None:
        trace = with_prefix_hit_rate(trace, spec.prefix_hit_rate)
    if spec.concurrency is not None:
        return trace
    return scaled_arrivals(trace, spec.base_load * point.load)


def _empty_row(spec: SweepSpec, point: SweepPoint) -> SweepRow:
    sizes = point.set.sizes
    taken = graph_bytes(sizes, spec.memory, spec.policy) if sizes else 0.0
    return SweepRow(point.set.name, sizes, point.load, taken, spec.machine.kv_tokens)


def _served(row: SweepRow, result: SimulationResult, spec: SweepSpec) -> SweepRow:
    latency = result.latency()
    limits = {"ttft_limit_s": spec.ttft_limit_s, "tpot_limit_s": spec.tpot_limit_s}
    return replace(
        row,
        kv_tokens=result.machine.kv_tokens,
        makespan_s=result.makespan_s,
        goodput_rps=result.goodput_rps(**limits),
        output_tps=result.output_tps,
        ttft_p50_ms=latency.ttft_ms.p50,
        ttft_p99_ms=latency.ttft_ms.p99,
        tpot_p50_ms=latency.tpot_ms.p50,
        tpot_p99_ms=latency.tpot_ms.p99,
        e2e_p50_ms=latency.e2e_ms.p50,
        e2e_p99_ms=latency.e2e_ms.p99,
        preemptions=result.preemptions,
        rejected=len(result.rejected),
        padded_slots=result.padded_slots,
        decode_steps=result.decode_steps.total_steps,
        eager_steps=result.eager_steps,
    )
