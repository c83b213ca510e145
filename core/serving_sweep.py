"""Bucket sets under several loads, each set's graphs taken from the KV cache of its own run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core.errors import SettingError
from core.memory import graph_bytes
from core.records import BucketSet, GraphMemory, PoolPolicy, StepCost, Trace
from core.simulate import COMPILE_FROM, Machine, PrefillCost, SimulationResult, simulate
from core.trace_changes import scaled_arrivals

Figure = Literal[
    "goodput_rps", "output_tps", "makespan_s", "ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms",
    "tpot_p99_ms", "e2e_p50_ms", "e2e_p99_ms",
]  # fmt: skip
HIGHER_IS_BETTER = ("goodput_rps", "output_tps")
LOADS = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class SweepRow:
    """One set under one load; figures are estimates of the simulation, None where there is none.

    sizes : empty where every step runs eager
    kv_tokens : what the set's graphs leave of the KV cache [tokens]
    error : why this set cannot serve at all; then there are no figures
    """

    name: str
    sizes: tuple[int, ...]
    load: float
    graph_bytes: float
    kv_tokens: int
    makespan_s: float | None = None
    goodput_rps: float | None = None
    output_tps: float | None = None
    ttft_p50_ms: float | None = None
    ttft_p99_ms: float | None = None
    tpot_p50_ms: float | None = None
    tpot_p99_ms: float | None = None
    e2e_p50_ms: float | None = None
    e2e_p99_ms: float | None = None
    preemptions: int = 0
    rejected: int = 0
    padded_slots: int = 0
    eager_steps: int = 0
    error: str | None = None

    @property
    def num_graphs(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class Sweep:
    """All rows, loads in the order given and within one the sets in theirs."""

    rows: tuple[SweepRow, ...]

    def at(self, load: float) -> tuple[SweepRow, ...]:
        """The rows of one load."""
        return tuple(row for row in self.rows if row.load == load)

    def best(self, load: float, figure: Figure = "goodput_rps", within: float = 0.0) -> SweepRow:
        """The best set under a load; of those within this share of it, the one of fewest graphs.

        Raises SettingError if no set has the figure there.
        """
        known = [row for row in self.at(load) if getattr(row, figure) is not None]
        if not known:
            raise SettingError(f"No set was served under load {load:g}; see the rows' errors.")
        sign = -1.0 if figure in HIGHER_IS_BETTER else 1.0
        values = {id(row): sign * getattr(row, figure) for row in known}
        limit = min(values.values())
        limit += within * abs(limit)
        good = [row for row in known if values[id(row)] <= limit]
        return min(good, key=lambda row: (row.num_graphs, values[id(row)]))


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
    machine: Machine,
    cost: StepCost,
    sets: Sequence[BucketSet | None],
    *,
    memory: GraphMemory,
    kv_bytes_per_token: float,
    policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST,
    loads: Sequence[float] = LOADS,
    prefill: PrefillCost | None = None,
    ttft_limit_s: float | None = None,
    tpot_limit_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Sweep:
    """Serve the trace with each set under each load.

    machine : with the KV cache there would be without graphs
    sets : None is no graphs at all
    loads : factors on the arrival rate
    progress : called after each run with the share of runs done
    A set that leaves no KV cache, or no room for a step, gets a row that says so.
    Raises SettingError (loads, limits, a trace that cannot run).
    """
    if not sets or not loads:
        raise SettingError("A sweep needs at least one bucket set and one load.")
    runs = len(sets) * len(loads)
    compiled = True if runs * len(trace) >= COMPILE_FROM else None
    rows = []
    for load in loads:
        requests = scaled_arrivals(trace, load)
        for item in sets:
            row = _empty_row(item, load, machine, memory, policy)
            try:
                engine = machine_beside_graphs(machine, row.graph_bytes, kv_bytes_per_token)
            except SettingError as error:
                rows.append(replace(row, kv_tokens=0, error=str(error)))
            else:
                result = simulate(
                    *(requests, engine, cost, row.sizes or None), prefill=prefill, compiled=compiled
                )
                rows.append(_served(row, result, ttft_limit_s, tpot_limit_s))
            if progress is not None:
                progress(len(rows) / runs)
    return Sweep(tuple(rows))


def _empty_row(
    item: BucketSet | None, load: float, machine: Machine, memory: GraphMemory, policy: PoolPolicy
) -> SweepRow:
    if item is None:
        return SweepRow("eager", (), load, 0.0, machine.kv_tokens)
    taken = graph_bytes(item.sizes, memory, policy)
    return SweepRow(item.name, item.sizes, load, taken, machine.kv_tokens)


def _served(
    row: SweepRow, result: SimulationResult, ttft_limit_s: float | None, tpot_limit_s: float | None
) -> SweepRow:
    latency = result.latency()
    return replace(
        row,
        kv_tokens=result.machine.kv_tokens,
        makespan_s=result.makespan_s,
        goodput_rps=result.goodput_rps(ttft_limit_s=ttft_limit_s, tpot_limit_s=tpot_limit_s),
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
        eager_steps=result.eager_steps,
    )
