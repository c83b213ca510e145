"""What a simulation gives: steps, latencies, throughput, and the state of the engine over time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from core import metrics
from core.metrics import Percentiles
from core.padding import EAGER
from core.records import FloatArray, IntArray, Origin, SizeUnit, StepHistogram, Trace
from core.simulation.machine import Machine
from core.simulation.step_times import StepTimes


@dataclass(frozen=True)
class Latency:
    """Percentiles over the served requests [ms]."""

    ttft_ms: Percentiles
    tpot_ms: Percentiles
    itl_ms: Percentiles
    e2e_ms: Percentiles


@dataclass(frozen=True)
class Series:
    """State of the engine at moments spread over the run, at most 1,024.

    time_s : (k,) ascending [s]; running, waiting : (k,) requests; kv_tokens : (k,) in held blocks
    """

    time_s: FloatArray
    running: IntArray
    waiting: IntArray
    kv_tokens: IntArray


@dataclass(frozen=True)
class SimulationResult:
    """A simulated run of one trace.

    decode_steps : steps of decoding requests alone [requests]
    mixed_steps : steps with prefill, decoding requests' tokens included [tokens]
    mixed_rows : (max_num_seqs + 1,) steps with prefill by requests that decoded in them
    running_steps : all steps by requests that ran, in prefill or decode [requests]
    arrival_s, first_token_s, finish_s : (n,) as the trace; NaN for rejected requests [s]
    rejected : (r,) indices of requests that can never fit
    preemptions, recomputed_tokens : requests sent back, and tokens computed again for them
    cached_tokens : prompt tokens that a prefix cache spared
    idle_s, decode_s, mixed_s : how the makespan divides
    padded_slots, eager_steps : of decode steps, in the unit of the cost
    itl_s, itl_counts : inter-token times in bins (each within 0.8 %), ascending [s]
    notes : sentences for people: assumptions, what was left out
    """

    trace: Trace
    machine: Machine
    times: StepTimes
    decode_steps: StepHistogram
    mixed_steps: StepHistogram
    mixed_rows: IntArray
    running_steps: StepHistogram
    arrival_s: FloatArray
    first_token_s: FloatArray
    finish_s: FloatArray
    rejected: IntArray
    makespan_s: float
    decode_s: float
    mixed_s: float
    idle_s: float
    preemptions: int
    recomputed_tokens: int
    cached_tokens: int
    peak_kv_tokens: int
    mean_decoding: float
    itl_s: FloatArray
    itl_counts: IntArray
    series: Series
    notes: tuple[str, ...] = field(default=())

    @property
    def origin(self) -> Origin:
        """A simulation is an estimate, whatever its step times rest on."""
        return Origin.ESTIMATED

    @property
    def num_served(self) -> int:
        return len(self.trace) - len(self.rejected)

    @property
    def steps(self) -> int:
        """Steps with work in them."""
        return self.decode_steps.total_steps + self.mixed_steps.total_steps

    @property
    def kv_share(self) -> FloatArray:
        """(k,) share of the KV cache in held blocks, at the moments of the series."""
        return self.series.kv_tokens / (self.machine.blocks * self.machine.block_size_tokens)

    @property
    def decode_slots(self) -> StepHistogram:
        """Decode steps by what a graph has to hold: requests, or their tokens with drafts."""
        sizes, _ = self._dispatch()
        drafted = bool((sizes != self.decode_steps.sizes).any())
        unit = SizeUnit.TOKENS if drafted else SizeUnit.REQUESTS
        return replace(self.decode_steps, sizes=sizes, unit=unit, decode_only=drafted)

    @property
    def padded_by_size(self) -> IntArray:
        """(m,) padded slots of all decode steps of each size of decode_steps."""
        sizes, bucket = self._dispatch()
        return np.where(bucket == EAGER, 0, bucket - sizes) * self.decode_steps.steps

    @property
    def eager_by_size(self) -> IntArray:
        """(m,) decode steps of each size of decode_steps that ran eager."""
        return np.where(self._dispatch()[1] == EAGER, self.decode_steps.steps, 0)

    @property
    def padded_slots(self) -> int:
        return int(self.padded_by_size.sum())

    @property
    def eager_steps(self) -> int:
        return int(self.eager_by_size.sum())

    def _dispatch(self) -> tuple[IntArray, IntArray]:
        at = self.decode_steps.sizes
        return self.times.sizes[at], self.times.bucket[at]

    @property
    def output_tokens(self) -> int:
        """Tokens that came out, of the served requests."""
        served = ~np.isnan(self.finish_s)
        return int(self.trace.output_tokens[served].sum())

    @property
    def output_tps(self) -> float:
        """Output tokens a second over the makespan; 0 when it is empty."""
        return self.output_tokens / self.makespan_s if self.makespan_s else 0.0

    @property
    def request_rps(self) -> float:
        """Served requests a second over the makespan."""
        return self.num_served / self.makespan_s if self.makespan_s else 0.0

    @property
    def ttft_s(self) -> FloatArray:
        return metrics.ttft_s(self.arrival_s, self.first_token_s)

    @property
    def tpot_s(self) -> FloatArray:
        return metrics.tpot_s(self.first_token_s, self.finish_s, self.trace.output_tokens)

    @property
    def e2e_s(self) -> FloatArray:
        return metrics.e2e_s(self.arrival_s, self.finish_s)

    def latency(self) -> Latency:
        """TTFT, TPOT, ITL and end-to-end percentiles [ms]."""
        return Latency(
            metrics.percentiles(self.ttft_s, 1e3),
            metrics.percentiles(self.tpot_s, 1e3),
            metrics.weighted_percentiles(self.itl_s, self.itl_counts, 1e3),
            metrics.percentiles(self.e2e_s, 1e3),
        )

    def goodput_rps(
        self, *, ttft_limit_s: float | None = None, tpot_limit_s: float | None = None
    ) -> float:
        """Requests a second that met the limits. Raises SettingError."""
        good = metrics.meets_limits(
            self.ttft_s, self.tpot_s, ttft_limit_s=ttft_limit_s, tpot_limit_s=tpot_limit_s
        )
        return int(good.sum()) / self.makespan_s if self.makespan_s else 0.0
