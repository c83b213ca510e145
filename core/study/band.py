"""How sure a simulated latency is: the same run with every step a per cent shorter and longer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.records import Trace
from core.simulate import Machine, simulate_times
from core.simulation.result import SimulationResult
from core.simulation.step_times import StepTimes

STEP_SHARE = 0.01
"""A good fit's error in the sum of its steps."""
NEAR = 5.0
"""TTFT that moves by so many times the steps' change: the engine is near saturation."""


@dataclass(frozen=True)
class Band:
    """Medians with steps STEP_SHARE shorter and longer, in ascending order [ms].

    near_saturation : one per cent of step time is several of TTFT, so that no TTFT is sure
    """

    tpot_p50_ms: tuple[float, float]
    ttft_p50_ms: tuple[float, float]
    near_saturation: bool

    @property
    def sentence(self) -> str:
        """For people."""
        low, high = self.ttft_p50_ms
        return (
            f"Near saturation: with steps {100 * STEP_SHARE:.0f} % shorter or longer the median "
            f"TTFT is {low:,.0f} to {high:,.0f} ms and the median TPOT {self.tpot_p50_ms[0]:,.2f} "
            f"to {self.tpot_p50_ms[1]:,.2f} ms; no step times are surer than that."
        )


def band(
    trace: Trace,
    machine: Machine,
    times: StepTimes,
    result: SimulationResult,
    concurrency: int | None = None,
) -> Band | None:
    """Beside a run of these step times; None where no request has a TPOT."""
    runs = [result]
    for share in (1 - STEP_SHARE, 1 + STEP_SHARE):
        runs.append(simulate_times(trace, machine, scaled(times, share), concurrency=concurrency))
    tpot = [run.latency().tpot_ms.p50 for run in runs]
    ttft = [run.latency().ttft_ms.p50 for run in runs]
    known_tpot = [value for value in tpot if value is not None]
    known_ttft = [value for value in ttft if value is not None]
    if len(known_tpot) < len(runs) or len(known_ttft) < len(runs):
        return None
    spread = (max(known_ttft) - min(known_ttft)) / max(1e-9, known_ttft[0])
    return Band(
        (min(known_tpot), max(known_tpot)),
        (min(known_ttft), max(known_ttft)),
        spread > 2 * NEAR * STEP_SHARE,
    )


def scaled(times: StepTimes, share: float) -> StepTimes:
    """Every step so many times as long."""
    return replace(
        times,
        **{
            name: getattr(times, name) * share
            for name in (
                *("decode_us", "decode_floor_us", "mixed_us", "mixed_floor_us", "context_us"),
                *("mixed_context_us", "pair_us", "prompt_us", "mixed_row_us"),
            )
        },
    )
