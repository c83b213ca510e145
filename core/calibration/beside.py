"""A simulated run beside the real one it stands for: how far apart, in the same words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import metrics
from core.calibration.lockstep import StepSamples
from core.calibration.recording import EngineRun
from core.errors import SettingError
from core.records import FloatArray, StepHistogram
from core.simulation.result import SimulationResult


@dataclass(frozen=True)
class Beside:
    """One figure of the real run and of the simulated one."""

    real: float
    simulated: float

    @property
    def error(self) -> float:
        """Simulated / real - 1."""
        return self.simulated / self.real - 1


@dataclass(frozen=True)
class Comparison:
    """Figures side by side; times in seconds.

    batch_distance : total variation distance of running requests a step: half the sum of absolute
        differences of shares, 0 equal to 1 disjoint
    batch_distance_by_4 : the same with sizes in groups of four
    real_running, simulated_running : steps by the requests that ran in them
    """

    makespan: Beside
    ttft_p50: Beside
    ttft_p99: Beside
    tpot_p50: Beside
    tpot_p99: Beside
    steps: Beside
    batch_distance: float
    batch_distance_by_4: float
    real_running: StepHistogram
    simulated_running: StepHistogram

    @property
    def figures(self) -> dict[str, Beside]:
        """Those that have a real and a simulated value, by name."""
        names = ("makespan", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "steps")
        return {name: getattr(self, name) for name in names}


def compare(result: SimulationResult, run: EngineRun, samples: StepSamples) -> Comparison:
    """The simulation of a run's requests beside the run.

    samples : all steps of the run. Raises SettingError if the requests are not the same.
    """
    if len(result.trace) != len(run.trace) or len(result.rejected):
        raise SettingError(
            f"{run.name} has {len(run.trace)} requests, {result.num_served} were simulated; "
            "compare a simulation of the same requests."
        )
    arrival, output = run.trace.arrival_s, run.trace.output_tokens
    assert arrival is not None
    ttft = metrics.ttft_s(arrival, run.first_token_s), result.ttft_s
    tpot = metrics.tpot_s(run.first_token_s, run.finish_s, output), result.tpot_s
    real = StepHistogram.from_batches(samples.rows + samples.prompts)
    return Comparison(
        Beside(run.makespan_s, result.makespan_s),
        _percentile(ttft, 50),
        _percentile(ttft, 99),
        _percentile(tpot, 50),
        _percentile(tpot, 99),
        Beside(len(samples), result.steps),
        total_variation(real, result.running_steps),
        total_variation(real, result.running_steps, width=4),
        real,
        result.running_steps,
    )


def _percentile(values: tuple[FloatArray, FloatArray], q: float) -> Beside:
    real, simulated = (float(np.nanpercentile(v, q)) for v in values)
    return Beside(real, simulated)


def total_variation(one: StepHistogram, other: StepHistogram, width: int = 1) -> float:
    """Half the summed differences of the shares of steps, sizes in groups of `width`."""
    top = max(int(h.sizes[-1]) for h in (one, other))
    shares = []
    for histogram in (one, other):
        counts = np.bincount(histogram.sizes // width, histogram.steps, top // width + 1)
        shares.append(counts / counts.sum())
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
