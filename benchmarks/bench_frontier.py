"""The exact frontier K = 1..64 beside a tuned numpy O(n^2 K), in the same run.

    python -m benchmarks.bench_frontier [REPEATS]

Ways are run in turn, REPEATS times (default 5), and medians compared, because a shared machine
drifts. ckwrap's weighted one-dimensional clustering (pip install ckwrap) is a yardstick of the same
shape: it is timed where it is installed, and skipped with a word where not.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from core.buckets import frontier
from core.buckets.build import build
from core.buckets.compiled import queue_layers, tree_layers
from core.buckets.layers import monotone_layers
from core.buckets.problem import Problem
from core.records import Origin, StepCost, StepHistogram

GRAPHS = 64
EXTRAPOLATED_ROWS, SOME_LAYERS = 400, 4


def histogram_of(n: int, seed: int = 0) -> StepHistogram:
    """n distinct sizes, each with some steps."""
    steps = np.random.default_rng(seed).integers(1, 1000, n)
    return StepHistogram(np.arange(1, n + 1), steps)


def bumpy_cost(n: int, seed: int = 1) -> StepCost:
    """A table that rises and dips by 2 %: no order to use."""
    sizes = np.arange(1, n + 1)
    noise = 1 + 0.02 * np.random.default_rng(seed).standard_normal(n)
    replay = (5_800 + 44.0 * sizes) * noise
    return StepCost(sizes, replay, 2 * replay, np.ones(n), Origin.ASSUMED, "bumpy")


def tuned_baseline(
    problem: Problem, block: int, rows: int | None = None, layers: int = GRAPHS
) -> np.ndarray:
    """Every predecessor, a block of rows at a time, float64: the plain numpy way.

    rows : only the last so many rows of each layer (for an extrapolation)
    """
    f, w, m = problem.replay, problem.below, len(problem)
    before = np.full(m, np.inf)
    before[0] = 0.0
    end = m if rows is None else min(m, rows + 1)
    for _ in range(layers):
        after = np.full(m, np.inf)
        start = m - end + 1 if rows is not None else 1
        for low in range(start, m, block):
            high = min(m, low + block)
            values = before[None, :high] - f[low:high, None] * w[None, :high]
            corner = values[:, low:high]
            corner[np.triu_indices(high - low)] = np.inf
            after[low:high] = values.min(axis=1) + f[low:high] * w[low:high]
        before = after
    return before


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(ways: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each way, run in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, work in ways.items():
            seconds[name].append(timed(work))
    return {name: statistics.median(values) for name, values in seconds.items()}


def best_block(problem: Problem, rows: int | None = None, layers: int = GRAPHS) -> int:
    """The row block with which the baseline is quickest here."""
    return min(
        (1, 2, 4, 8, 16, 32, 64, 128),
        key=lambda block: timed(lambda: tuned_baseline(problem, block, rows, layers)),
    )


def report(n: int, baseline: float, medians: dict[str, float], note: str = "") -> None:
    print(f"n = {n:,}: tuned numpy O(n^2 K) {baseline:.3f} s{note}")
    for name, seconds in medians.items():
        print(f"  {name:34} {1e3 * seconds:9.2f} ms   {baseline / seconds:8.1f} x")


def bench_small(n: int, repeats: int) -> None:
    """All ways against the whole baseline."""
    histogram = histogram_of(n)
    problem, bumpy = build(histogram), build(histogram, bumpy_cost(n))
    block = best_block(problem)
    medians = interleaved(
        {
            "baseline": lambda: tuned_baseline(problem, block),
            "queue of lines (numba)": lambda: queue_layers(problem, GRAPHS),
            "split search (numpy alone)": lambda: monotone_layers(problem, GRAPHS),
            "Li Chao tree, any table (numba)": lambda: tree_layers(bumpy, GRAPHS),
            "frontier(), points and waste too": lambda: frontier(histogram, max_graphs=GRAPHS),
        },
        repeats,
    )
    baseline = medians.pop("baseline")
    exact = tuned_baseline(problem, block)
    assert (exact == queue_layers(problem, GRAPHS).costs[-1]).all()
    assert (exact == monotone_layers(problem, GRAPHS).costs[-1]).all()
    report(n, baseline, medians, f" (block {block})")


def bench_large(n: int, repeats: int) -> None:
    """The baseline takes minutes, so it is extrapolated from the last rows."""
    histogram = histogram_of(n)
    problem = build(histogram)
    block = best_block(problem, 128, 2)
    part = timed(lambda: tuned_baseline(problem, block, EXTRAPOLATED_ROWS, SOME_LAYERS))
    # the last rows are twice as long as the mean one
    baseline = part * (n / EXTRAPOLATED_ROWS) / 2 * (GRAPHS / SOME_LAYERS)
    medians = interleaved(
        {
            "queue of lines (numba)": lambda: queue_layers(problem, GRAPHS),
            "split search (numpy alone)": lambda: monotone_layers(problem, GRAPHS),
            "frontier(), points and waste too": lambda: frontier(histogram, max_graphs=GRAPHS),
        },
        repeats,
    )
    report(n, baseline, medians, f" (block {block}) EXTRAPOLATED from {EXTRAPOLATED_ROWS} rows")


def bench_ckwrap(repeats: int) -> None:
    """Weighted clustering of 3,888 distinct lengths, the same number of layers."""
    if importlib.util.find_spec("ckwrap") is None:
        print("ckwrap is not installed: the yardstick is skipped (pip install ckwrap)")
        return
    import ckwrap  # pyright: ignore

    histogram = histogram_of(3_888, seed=2)
    x, w = histogram.sizes.astype(float), histogram.steps.astype(float)
    problem = build(histogram)
    medians = interleaved(
        {
            "ckwrap, k = 64": lambda: ckwrap.ckmeans(x, GRAPHS, weights=w),
            "ckwrap, k = 1..64": lambda: ckwrap.ckmeans(x, (1, GRAPHS), weights=w),
            "whole frontier (numba)": lambda: queue_layers(problem, GRAPHS),
            "whole frontier (numpy alone)": lambda: monotone_layers(problem, GRAPHS),
            "frontier(), points and waste too": lambda: frontier(histogram, max_graphs=GRAPHS),
        },
        repeats,
    )
    print("3,888 distinct lengths, K <= 64")
    for name, seconds in medians.items():
        print(f"  {name:34} {1e3 * seconds:9.2f} ms")


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    warm = build(histogram_of(64)), build(histogram_of(64), bumpy_cost(64))
    queue_layers(warm[0], 2)
    tree_layers(warm[1], 2)
    for n in (512, 4096):
        bench_small(n, repeats)
    bench_large(131_072, min(repeats, 3))
    bench_ckwrap(repeats)


if __name__ == "__main__":
    main()
