"""The simulation beside three recorded runs of a real engine (docs/validation.md).

    python -m benchmarks.validate [FOLDER]

Step times are fitted to the first half of one run; every run is then simulated from its arrivals,
lengths and limits alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from core.calibration.beside import Comparison, compare, total_variation
from core.calibration.fit import FittedSteps, fit_steps
from core.calibration.lockstep import StepSamples, lockstep
from core.calibration.recording import EngineRun, load_engine_run
from core.records import StepHistogram
from core.simulate import Machine, simulate

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "engine_runs"
NAMES = ("default", "pow2", "eager")
LIMITS = {"max_num_seqs": 256, "max_num_batched_tokens": 2048}
"""As the engine's log says."""
COLUMNS = ("makespan", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "steps")


def machine_of(run: EngineRun) -> Machine:
    return Machine(run.kv_tokens, block_size_tokens=run.block_size_tokens, **LIMITS)


def predicted(fit: FittedSteps, run: EngineRun, samples: StepSamples) -> Comparison:
    """The run simulated with these step times, beside the run."""
    sizes = run.capture_sizes or None
    result = simulate(run.trace, machine_of(run), fit.cost, sizes, prefill=fit.prefill)
    return compare(result, run, samples)


def row(source: str, target: str, found: Comparison) -> str:
    errors = " | ".join(f"{100 * getattr(found, name).error:+.1f} %" for name in COLUMNS)
    return (
        f"| {source} | {target} | {errors} | {found.batch_distance:.3f} | "
        f"{found.batch_distance_by_4:.3f} |"
    )


def main(folder: Path) -> None:
    runs = {n: load_engine_run(folder / f"vllm-0.23-h200-{n}.json.gz") for n in NAMES}
    samples = {name: lockstep(run, machine_of(run)) for name, run in runs.items()}
    for name, found in samples.items():
        print(f"{name}: {len(found):,} steps scheduled, {found.mismatches} differ from the run's")
    sizes = {n: StepHistogram.from_batches(s.rows + s.prompts) for n, s in samples.items()}
    for width in (1, 4):
        apart = total_variation(sizes["default"], sizes["pow2"], width)
        print(f"running requests a step, default and pow2 as recorded, by {width}: {apart:.3f}")
    print(f"\n| fitted to the first half of | run | {' | '.join(COLUMNS)} | distance | by 4 |")
    print("|" + " --- |" * (len(COLUMNS) + 4))
    for source in NAMES:
        eager_us = runs["eager"].decode_step_us if source != "eager" else None
        fit = fit_steps(
            samples[source].first_half,
            runs[source].capture_sizes,
            table=runs[source].decode_step_us,
            eager_us=eager_us,
        )
        for target in NAMES:
            print(row(source, target, predicted(fit, runs[target], samples[target])))
    for source in NAMES:
        half = samples[source].first_half
        fit = fit_steps(half, runs[source].capture_sizes)
        print(f"\n{source}: {fit.summary}; {fit.prefill.source}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
