"""Simulated requests a second, beside a compiled loop over every sequence in every step.

    python -m benchmarks.bench_simulate [REQUESTS] [BASELINE_REQUESTS]

Both run the same rules on the same requests (chunked prefill, decode, blocks, preemption) and must
end at the same tick. The baseline takes minutes for many requests, so it runs a shorter trace; the
ratio is of times on that trace.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from core.example.trace import gamma_arrivals
from core.records import Origin, Trace
from core.simulate import Machine, PrefillCost, simulate_times, step_times
from core.simulation.load import TICKS_PER_S
from core.step_cost import assumed_step_cost

PREFILL = PrefillCost(0.0, 35.0, 0.03, 256, Origin.ASSUMED, "assumed, terms of the baseline alone")
LOADS = {"light": 6.0, "busy": 12.0, "KV-bound": 14.0, "overload": 60.0}
"""Requests a second of each load; capacity lies near 16 with these step times."""


@numba.njit(cache=True)
def step_by_step(
    arrival, prompt, output, decode, mixed, floor, context, block, blocks, seqs, budget
):
    """The same rules (whole prompts must fit), every sequence looked at in every step."""
    count = len(arrival)
    kv, given, held = (
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
    )
    running, running_count = np.zeros(seqs, np.int64), 0
    chunk = np.zeros(seqs, np.int64)
    sent_back, back_count = np.zeros(count, np.int64), 0
    head, done, free, now, preemptions = 0, 0, blocks, np.int64(0), 0
    while done < count:
        if running_count == 0 and back_count == 0 and arrival[head] > now:
            now = arrival[head]
        left, preempted, i = budget, False, 0
        while i < running_count:
            r = running[i]
            chunk[i] = min(prompt[r] + given[r] - kv[r], left)
            more = (kv[r] + chunk[i] + block - 1) // block - held[r]
            while more > free and running_count > i:
                running_count -= 1
                v = running[running_count]
                free += held[v]
                held[v] = kv[v] = 0
                sent_back[back_count] = v
                back_count += 1
                preempted = True
                preemptions += 1
            if i < running_count:
                free -= more
                held[r] += more
                left -= chunk[i]
            i += 1
        while not preempted and running_count < seqs and left > 0:
            if back_count > 0:
                r = sent_back[back_count - 1]
            elif head < count and arrival[head] <= now:
                r = head
            else:
                break
            need = prompt[r] + given[r]
            if (need + block - 1) // block > free:
                break
            if back_count > 0:
                back_count -= 1
            else:
                head += 1
            chunk[running_count] = min(need, left)
            held[r] = (chunk[running_count] + block - 1) // block
            free -= held[r]
            left -= chunk[running_count]
            running[running_count] = r
            running_count += 1
        tokens, rows, read, pure = 0, 0, np.int64(0), True
        for i in range(running_count):
            r = running[i]
            tokens += chunk[i]
            if given[r] > 0 and kv[r] == prompt[r] + given[r] - 1 and kv[r] > 0:
                rows += 1
                read += kv[r] + 1
            else:
                pure = False
        if running_count > 0:
            ticks = (decode[rows] if pure else mixed[tokens]) + context * read
            now += ticks if pure else max(ticks, floor[tokens])
        stay = 0
        for i in range(running_count):
            r = running[i]
            kv[r] += chunk[i]
            if kv[r] == prompt[r] + given[r]:
                given[r] += 1
            if given[r] >= output[r]:
                done += 1
                free += held[r]
            else:
                running[stay] = r
                stay += 1
        running_count = stay
    return now, preemptions


def load_of(count: int, rate_rps: float) -> Trace:
    rng = np.random.default_rng(0)
    prompt = np.clip(rng.lognormal(6.1, 1.0, count), 2, 4096).astype(np.int64)
    output = np.clip(rng.lognormal(5.0, 0.8, count), 1, 1024).astype(np.int64)
    return gamma_arrivals(Trace(prompt, output, name="lognormal"), rate_rps=rate_rps, seed=1)


def timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median seconds of `repeats` calls after one to warm up, and what it gave."""
    result = call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def main(count: int, baseline_count: int) -> None:
    cost, sizes = assumed_step_cost(), [1, 2, 4, *range(8, 257, 8)]
    for name, rate in LOADS.items():
        machine = Machine(40_000 if name == "KV-bound" else 400_000)
        times = step_times(cost, machine, sizes, PREFILL)
        many, few = load_of(count, rate), load_of(baseline_count, rate)

        def run(trace: Trace, compiled: bool, machine=machine, times=times):
            return simulate_times(trace, machine, times, compiled=compiled)

        per_us = TICKS_PER_S / 1_000_000
        arguments = (
            np.rint(few.arrival_s * TICKS_PER_S).astype(np.int64),
            few.prompt_tokens,
            few.output_tokens,
            np.rint(times.decode_us * per_us).astype(np.int64),
            np.rint(times.mixed_us * per_us).astype(np.int64),
            np.rint(times.mixed_floor_us * per_us).astype(np.int64),
            int(round(times.context_us * per_us)),
            machine.block_size_tokens,
            machine.blocks,
            machine.max_num_seqs,
            machine.max_num_batched_tokens,
        )
        large_s, large = timed(lambda run=run, many=many: run(many, True), 3)
        short_s, short = timed(lambda run=run, few=few: run(few, True), 5)
        plain_s, _ = timed(lambda run=run, few=few: run(few, False), 1)
        slow_s, (now, preemptions) = timed(lambda a=arguments: step_by_step(*a), 1)
        same = now / TICKS_PER_S == short.makespan_s and preemptions == short.preemptions
        print(
            f"{name} ({large.mean_decoding:.0f} decoding on average, {large.preemptions:,} "
            f"preemptions): {count:,} requests in {large_s:.3f} s; {baseline_count:,}: "
            f"{short_s:.4f} s, plain Python {plain_s:.2f} s, step by step compiled {slow_s:.3f} s "
            f"= x{slow_s / short_s:.1f}; same last tick: {same}"
        )


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [1_000_000, 50_000][len(given) :]))
