"""Regret of lists chosen on the first half of a trace and scored on the second.

    python -m benchmarks.bench_holdout [TRACE ...]

Without arguments: the slices of real traces that the tests use (too short to mean much).
Traces with arrivals run half by half through the simulated engine (step times assumed); lengths
without arrivals are bucketed by prompt length, in file order. A guard bucket at the largest batch
keeps every step on a graph.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from core.choice.holdout import hold_out, split_trace
from core.engines import ENGINES
from core.histogram import steps_from_lengths
from core.readers import read
from core.records import LengthHistogram, StepHistogram, Trace
from core.simulate import Machine, simulate
from core.step_cost import assumed_step_cost

GRAPHS = (8, 16, 35, 51)
SLICES = Path(__file__).resolve().parent.parent / "tests" / "data" / "traces"
SLICE_NAMES = (
    "azure_conv.csv",
    "azure_code.csv.gz",
    "mooncake_conversation.jsonl",
    "mooncake_synthetic.jsonl.gz",
    "etalon_sharegpt8k.csv",
    "vidur_arxiv.csv",
)
MACHINE = Machine(kv_tokens=500_000)


def decode_steps(trace: Trace) -> StepHistogram:
    sizes = ENGINES["vllm"].default_sizes(None, {"max_num_seqs": MACHINE.max_num_seqs}).sizes
    return simulate(trace, MACHINE, assumed_step_cost(), sizes).decode_steps


def lengths(trace: Trace) -> StepHistogram:
    sizes, counts = np.unique(trace.prompt_tokens, return_counts=True)
    return steps_from_lengths(LengthHistogram(sizes, counts))


def row(path: str) -> str:
    """One line of the table."""
    trace = read(path).trace
    if trace is None:
        return f"| `{Path(path).name}` | no requests in it | | | | |"
    halves = split_trace(trace)
    timed = trace.arrival_s is not None
    first, second = (decode_steps(half) if timed else lengths(half) for half in halves)
    top = int(max(first.sizes[-1], second.sizes[-1]))
    guard = max(MACHINE.max_num_seqs, top) if timed else top
    found = hold_out(
        first, second, GRAPHS, cost=assumed_step_cost() if timed else None, guard=guard
    )
    cells = []
    for item in found:
        # Step regret where steps have a time; waste is what lengths have.
        time = "" if item.step_regret is None else f", {100 * item.step_regret:.2f} % of time"
        cells.append(f"{100 * item.regret:.1f} points{time}")
    what = "decode batch" if timed else "prompt length"
    return f"| `{Path(path).name}` | {what} | " + " | ".join(cells) + " |"


def main() -> None:
    paths = sys.argv[1:] or [str(SLICES / name) for name in SLICE_NAMES]
    print("| trace | bucketed | " + " | ".join(f"K = {k}" for k in GRAPHS) + " |")
    print("|---" * (len(GRAPHS) + 2) + "|")
    for path in paths:
        print(row(path), flush=True)


if __name__ == "__main__":
    main()
