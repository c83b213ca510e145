"""What a sweep found: bucket sets under several loads, a row each, and the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.errors import SettingError

Figure = Literal[
    "goodput_rps", "output_tps", "makespan_s", "ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms",
    "tpot_p99_ms", "e2e_p50_ms", "e2e_p99_ms",
]  # fmt: skip
HIGHER_IS_BETTER = ("goodput_rps", "output_tps")


@dataclass(frozen=True)
class SweepRow:
    """One set under one load; figures are estimates of the simulation, None where there is none.

    sizes : empty where every step runs eager
    kv_tokens : what the set's graphs leave of the KV cache [tokens]
    eager_steps, decode_steps : steps without prefill that found no graph, and all of them; 0 of
        both where the steps were not counted
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
    decode_steps: int = 0

    @property
    def num_graphs(self) -> int:
        return len(self.sizes)

    @property
    def eager_share(self) -> float:
        """Share of the steps without prefill that found no graph; 0 where none is counted."""
        return self.eager_steps / self.decode_steps if self.decode_steps else 0.0


@dataclass(frozen=True)
class Sweep:
    """The rows so far, loads in the order given and within one the sets in theirs."""

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

    def best_serving(self, load: float, within: float = 0.01) -> SweepRow:
        """The set that serves most requests within the limits; of those within this share of it
        the one that answers soonest (end-to-end median), and of these the one of fewest graphs.

        Raises SettingError if no set was served.
        """
        most = self.best(load).goodput_rps or 0.0
        near = [r for r in self.at(load) if (r.goodput_rps or 0.0) >= most * (1.0 - within)]
        return Sweep(tuple(near)).best(load, "e2e_p50_ms", within)
