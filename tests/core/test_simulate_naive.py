"""The simulator equals a step-by-step loop to the tick, compiled or not."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from core.simulation import state
from core.simulation.compiled import compiled_advance
from core.simulation.kernel import names
from core.simulation.kernel.loop import advance
from core.simulation.machine import Machine
from tests.core import naive_batching as naive

SYSTEMS = 3000


@dataclass
class System:
    """A small random engine and its requests."""

    requests: list[tuple[int, int, int, int]]
    rules: naive.Rules


def random_system(seed: int, separate: bool) -> System:
    """Few slots, few blocks, step times that jump about: preemptions and ties are common."""
    rng = random.Random(seed)
    block = rng.choice([1, 2, 3, 4, 8])
    drafts = rng.choice([0, 0, 0, 1, 3])
    max_seqs = rng.randint(1, 7)
    longest = rng.choice([6, 12, 30])
    need = -(-(2 * longest + 2 * drafts) // block)
    budget = max_seqs * (1 + drafts) + rng.choice([0, 1, 4, 20])
    machine = Machine(
        10**6, 1, max_seqs, budget, draft_tokens=drafts, acceptance=rng.choice([0.0, 0.37, 0.8, 1])
    )
    now = 0
    requests = []
    for _ in range(rng.randint(1, 14)):
        now += rng.choice([0, 0, 1, rng.randint(0, 400)])
        prompt, output = rng.randint(1, longest), rng.randint(1, longest)
        hit = rng.randint(0, prompt - 1) if rng.random() < 0.3 else 0
        requests.append((now, prompt, output, hit // block * block))
    rules = naive.Rules(
        blocks=need + rng.choice([0, 1, 2, 5, 40]),
        block=block,
        max_seqs=max_seqs,
        budget=budget,
        decode=[0] + [rng.randint(1, 30) for _ in range(max_seqs)],
        mixed=[0] + [rng.randint(1, 60) for _ in range(budget)],
        decode_floor=[0] + [rng.choice([1, 1, rng.randint(1, 200)]) for _ in range(max_seqs)],
        mixed_floor=[0] + [rng.choice([1, 1, rng.randint(1, 200)]) for _ in range(budget)],
        context=rng.choice([0, 0, 1, 3]),
        mixed_context=rng.choice([0, 2]),
        pair=rng.choice([0, 1]),
        prompt=rng.choice([0, 7]),
        mixed_row=rng.choice([0, 0, 5]),
        separate=separate,
        whole_prompt=rng.random() < 0.5,
        drafts=drafts,
        emit=machine.emit_fraction,
        concurrency=rng.randint(1, 9) if rng.random() < 0.2 else None,
    )
    return System(requests, rules)


def engine_of(system: System):
    rules = system.rules
    columns = [np.array(column, np.int64) for column in zip(*system.requests, strict=True)]
    return state.new_engine(
        state.Load(*columns),
        state.Rules(
            rules.blocks,
            rules.block,
            rules.max_seqs,
            rules.budget,
            rules.separate,
            rules.whole_prompt,
            rules.drafts,
            rules.emit,
            *(np.array(table, np.int64) for table in (rules.decode, rules.decode_floor)),
            *(np.array(table, np.int64) for table in (rules.mixed, rules.mixed_floor)),
            *(rules.context, rules.mixed_context, rules.pair, rules.prompt, rules.mixed_row),
        ),
        rules.concurrency,
    )


def run_plain(system: System, slice_events: int = 10**9):
    engine, scalars = state.as_lists(*engine_of(system))
    while advance(engine, scalars, slice_events) < len(system.requests):
        assert not scalars[names.STUCK]
    return state.as_arrays(engine, scalars)


def run_compiled(system: System):
    engine, scalars = engine_of(system)
    done = compiled_advance()(engine, scalars, 10**9)
    assert done == len(system.requests)
    return engine, scalars


def run_naive(system: System) -> naive.Engine:
    engine = naive.Engine([naive.Request(*r) for r in system.requests], system.rules)
    engine.run()
    return engine


def gap_bin(ticks: int) -> int:
    """Bins of 1/128 of a power of two, counted from the definition."""
    shift = max(0, ticks.bit_length() - 8)
    return 128 * shift + (ticks >> shift)


def assert_equal(system: System, engine, scalars, expected: naive.Engine) -> None:
    def counts(array) -> dict[int, int]:
        return {int(i): int(array[i]) for i in np.flatnonzero(array)}

    assert engine.first.tolist() == [r.times[0] for r in expected.requests]
    assert engine.finish.tolist() == [r.finish for r in expected.requests]
    assert engine.arrival.tolist() == [r.arrival for r in expected.requests]
    assert counts(engine.decode_steps) == dict(expected.decode_steps)
    assert counts(engine.mixed_steps) == dict(expected.mixed_steps)
    assert counts(engine.mixed_rows) == dict(expected.mixed_rows)
    assert counts(engine.mixed_running) == dict(expected.mixed_running)
    assert counts(engine.gaps) == dict(Counter(map(gap_bin, expected.gaps())))
    assert scalars[names.NOW] == expected.now
    assert scalars[names.PREEMPTIONS] == expected.preemptions
    assert scalars[names.RECOMPUTED] == expected.recomputed
    assert scalars[names.CACHED] == expected.cached
    assert scalars[names.IDLE] == expected.idle
    assert scalars[names.PEAK] == expected.peak
    assert scalars[names.FREE] == system.rules.blocks, "blocks leaked"


@pytest.mark.parametrize("separate", [False, True], ids=["chunked", "separate"])
def test_equal_to_step_by_step(separate):
    """3,000 random systems a mode, preemptions included: the same ticks as plain Python."""
    preemptions = 0
    for seed in range(SYSTEMS):
        system = random_system(seed, separate)
        expected = run_naive(system)
        assert_equal(system, *run_plain(system), expected)
        preemptions += expected.preemptions
    assert preemptions > SYSTEMS, "the systems are too easy to show anything"


@pytest.mark.parametrize("separate", [False, True], ids=["chunked", "separate"])
def test_compiled_equals_plain(separate):
    """numba's code and plain Python give the same arrays and scalars, all of them."""
    pytest.importorskip("numba")
    for seed in range(SYSTEMS):
        system = random_system(seed, separate)
        plain, plain_scalars = run_plain(system)
        compiled, scalars = run_compiled(system)
        assert scalars.tolist() == plain_scalars.tolist()
        for name, one, other in zip(plain._fields, plain, compiled, strict=True):
            assert np.array_equal(one, other), name


def test_slices_change_nothing():
    """Run three events at a time, as progress bars do, and the outcome is the same."""
    for seed in range(100):
        system = random_system(seed, separate=bool(seed % 2))
        whole, scalars = run_plain(system)
        sliced, sliced_scalars = run_plain(system, slice_events=3)
        assert scalars.tolist() == sliced_scalars.tolist()
        assert np.array_equal(whole.finish, sliced.finish)
