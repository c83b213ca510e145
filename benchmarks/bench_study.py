"""A study's lists and scenarios, beside the same with a plain loop over every sequence and step.

    python -m benchmarks.bench_study [REQUESTS]

Both simulate the same requests with the same graphs and must end every run at the same time. The
loop is slow, so it serves a few lists; the ratio is of seconds a list and scenario.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from core.example.trace import gamma_arrivals
from core.records import Trace
from core.simulate import simulate_times, step_times
from core.simulation.load import TICKS_PER_S
from core.study.build import EngineLimits, study_of
from core.study.choose import choose
from core.study.graphs import EngineChoice
from core.study.prices import assumed_prices
from core.study.study import Study
from tests.core import naive_batching as naive

NAIVE_LISTS = 2
"""Lists that the plain loop serves."""


def requests(count: int) -> Trace:
    rng = np.random.default_rng(1)
    prompt = np.clip(rng.lognormal(6, 1, count), 1, 8000).astype(np.int64)
    output = np.clip(rng.lognormal(5, 0.8, count), 2, 1000).astype(np.int64)
    return gamma_arrivals(Trace(prompt, output, name="made"), rate_rps=8.0, cv=1.0, seed=1)


def naive_makespan_s(study: Study, sizes: tuple[int, ...], trace: Trace) -> float:
    """The same run by the loop of the tests, in plain Python."""
    machine, graphs = study.machine, study.graphs(sizes)
    cost = study.cost
    times = step_times(cost, machine, graphs.mixed or None, study.prefill, graphs.bucket)

    def ticks(us: np.ndarray) -> list[int]:
        return np.rint(us * (TICKS_PER_S / 1e6)).astype(np.int64).tolist()

    rules = naive.Rules(
        blocks=machine.blocks,
        block=machine.block_size_tokens,
        max_seqs=machine.max_num_seqs,
        budget=machine.max_num_batched_tokens,
        decode=ticks(times.decode_us),
        mixed=ticks(times.mixed_us),
        decode_floor=[max(1, n) for n in ticks(times.decode_floor_us)],
        mixed_floor=[max(1, n) for n in ticks(times.mixed_floor_us)],
        context=ticks(np.array([times.context_us]))[0],
        mixed_context=ticks(np.array([times.mixed_context_us]))[0],
        pair=ticks(np.array([times.pair_us]))[0],
        prompt=ticks(np.array([times.prompt_us]))[0],
        mixed_row=ticks(np.array([times.mixed_row_us]))[0],
    )
    assert trace.arrival_s is not None
    arrival = np.rint(trace.arrival_s * TICKS_PER_S).astype(np.int64).tolist()
    rows = zip(arrival, trace.prompt_tokens.tolist(), trace.output_tokens.tolist(), strict=True)
    engine = naive.Engine([naive.Request(*row) for row in rows], rules)
    engine.run()
    same = simulate_times(trace, machine, times)
    assert abs(same.makespan_s - engine.now / TICKS_PER_S) < 1e-9, "the two ways differ"
    return engine.now / TICKS_PER_S


def made_study(count: int) -> Study:
    settings = {"max_num_seqs": 256, "max_num_batched_tokens": 8192}
    return study_of(
        requests(count),
        EngineChoice("vllm", "0.23.0", settings),
        assumed_prices(),
        EngineLimits(256, 8192, 500_000),
    )


def main(count: int) -> None:
    made_study(50).figures(())  # loads numba
    warm = made_study(count)
    warm.figures(None)
    study = made_study(count)
    start = time.perf_counter()
    choice = choose(study)
    whole = time.perf_counter() - start
    runs = len(choice.tried) * len(study.scenarios)
    tried = f"{len(choice.tried)} lists x {len(study.scenarios)} scenarios"
    print(f"{count:,} requests: {tried}, {whole:.2f} s")
    lists = [
        item.figures.sizes for item in choice.tried[:: max(1, len(choice.tried) // NAIVE_LISTS)]
    ]
    start, served = time.perf_counter(), 0
    for sizes in lists[:NAIVE_LISTS]:
        for scenario in study.scenarios:
            if scenario.trace is not None:
                naive_makespan_s(study, sizes, scenario.trace)
                served += 1
    naive_s = time.perf_counter() - start
    print(
        f"plain loop: {naive_s:.1f} s for {served} runs, {naive_s / served:.2f} s a run; study "
        f"{1e3 * whole / runs:.2f} ms a run: {naive_s / served / (whole / runs):,.0f} x"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 795)
