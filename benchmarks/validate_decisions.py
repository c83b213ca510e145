"""Lists that a real engine ran, beside what the study said of them (docs/decisions.md).

    python -m benchmarks.validate_decisions [FOLDER]

Step times are fitted to the first half of one run of each model; every list is then simulated and
its change against the default list of the same requests is held beside the real change.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from core import metrics
from core.calibration.fit import fit_steps
from core.calibration.lockstep import explained
from core.calibration.recording import EngineRun, load_engine_run
from core.graph_memory import GraphLists, shipped_captures, shipped_graph_memory
from core.records import FloatArray
from core.simulate import Machine, simulate_times, step_times
from core.study.graphs import EngineChoice, graphs_of

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "engine_lists"
SEQS = {"8b": 256, "05b": 1024}
GROUPS = (
    ("8b-default", "8b-default", ("8b-twelve", "8b-pow2", "8b-six", "8b-robust16")),
    ("8b-default", "8b-default-x3", ("8b-six-x3",)),
    ("8b-later-default-x2", "8b-later-default-x2", ("8b-later-twenty-x2",)),
    ("8b-later-default-x2", "8b-later-default-x3", ("8b-later-twenty-x3",)),
    ("05b-default", "05b-default", ("05b-upto1024", "05b-eager")),
    ("05b-long-default", "05b-long-default", ("05b-long-upto1024",)),
    ("05b-over-default", "05b-over-default", ("05b-over-add",)),
)
"""(run that the model is fitted to half of, default run of the same requests, lists beside it)."""
FIGURES = ("TPOT p50", "TPOT mean", "TPOT p99", "TTFT p50", "steps")


@dataclass(frozen=True)
class Served:
    """A run, real or simulated, in the figures that are compared: (5,) in the order of FIGURES."""

    values: FloatArray

    def change(self, other: Served) -> FloatArray:
        """Of each figure against another run: (5,)."""
        return self.values / other.values - 1


def figures(
    arrival: FloatArray, first: FloatArray, last: FloatArray, output: np.ndarray, steps: int
) -> Served:
    tpot = metrics.tpot_s(first, last, output)
    tpot = tpot[~np.isnan(tpot)]
    p50, p99 = np.percentile(tpot, [50, 99])
    ttft = float(np.percentile(metrics.ttft_s(arrival, first), 50))
    return Served(np.array([p50, tpot.mean(), p99, ttft, steps], np.float64))


def real(run: EngineRun) -> Served:
    arrival = run.trace.arrival_s
    assert arrival is not None
    return figures(
        arrival, run.first_token_s, run.finish_s, run.trace.output_tokens, len(run.step_s)
    )


def machine_of(run: EngineRun, seqs: int) -> Machine:
    return Machine(run.kv_tokens, run.block_size_tokens, seqs, 8192)


def predicted(run: EngineRun, seqs: int, fit) -> Served:
    """The run's requests with its list, by a model that saw half of another run."""
    machine = machine_of(run, seqs)
    choice = EngineChoice("vllm", "0.23.0", {"max_num_seqs": seqs, "max_num_batched_tokens": 8192})
    graphs = graphs_of(choice, run.capture_sizes, seqs)
    cost = replace(fit.cost, unit=graphs.unit) if graphs.sizes else fit.cost
    times = step_times(cost, machine, graphs.mixed or None, fit.prefill, graphs.bucket)
    result = simulate_times(run.trace, machine, times)
    return figures(
        result.arrival_s, result.first_token_s, result.finish_s,
        run.trace.output_tokens, result.steps,
    )  # fmt: skip


def fitted(run: EngineRun, seqs: int):
    samples, _ = explained(run, machine_of(run, seqs))
    return fit_steps(samples.first_half, run.capture_sizes, table=run.decode_step_us)


def memory_lines() -> list[str]:
    """Graph memory of each recorded list, predicted by a fit that saw all but it."""
    shipped, model = shipped_captures(), shipped_graph_memory("vllm", "0.23.0")
    lines = [
        "",
        "| graphs (piecewise / full) | measured GiB | predicted GiB | off |",
        "|" + " --- |" * 4,
    ]
    for item in shipped.observations:
        lists: GraphLists = item.lists
        found = model.predict(lists, item.shape).total_bytes
        off = 100 * (found / item.taken_bytes - 1)
        lines.append(
            f"| {item.shape.name or item.source}: {len(lists.piecewise)} / {len(lists.full)} | "
            f"{item.taken_bytes / 2**30:.2f} | {found / 2**30:.2f} | {off:+.1f} % |"
        )
    return lines


def main(folder: Path) -> None:
    names = {name for _, base, others in GROUPS for name in (base, *others)}
    runs = {name: load_engine_run(folder / f"{name}.json.gz") for name in sorted(names)}
    print(f"| fitted to half of | list | {' | '.join(f'{f}, real / predicted' for f in FIGURES)} |")
    print("|" + " --- |" * (len(FIGURES) + 2))
    for source, base, others in GROUPS:
        seqs = SEQS[source.split("-")[0]]
        fit = fitted(runs[source], seqs)
        before, guess = real(runs[base]), predicted(runs[base], seqs, fit)
        off = guess.change(before)
        print(
            f"| {source} | *{base}* itself, simulated / real | "
            + " | ".join(f"{100 * x:+.1f} %" for x in off)
            + " |"
        )
        for name in others:
            truth = real(runs[name]).change(before)
            said = predicted(runs[name], seqs, fit).change(guess)
            cells = (f"{100 * a:+.1f} / {100 * b:+.1f} %" for a, b in zip(truth, said, strict=True))
            print(f"| {source} | {name} | {' | '.join(cells)} |")
    print("\n".join(memory_lines()))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
