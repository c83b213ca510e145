"""Sets under several loads: graphs take KV cache, and the best set is the one that serves best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.errors import SettingError
from core.example.trace import example_trace
from core.memory import graph_bytes
from core.records import BucketSet, GraphMemory, Origin, PoolPolicy
from core.records.sweep import Sweep, SweepRow
from core.serving.spec import SweepSpec, sweep_sets
from core.serving.sweep import (
    machine_beside_graphs,
    pays_to_compile,
    seconds_left,
    sweep,
    sweep_seconds,
)
from core.simulate import Machine, simulate
from core.step_cost import assumed_step_cost
from core.trace_changes import scaled_arrivals, with_prefix_hit_rate

GIB = 2**30
TRACE = example_trace(num_requests=300)
# 1 GiB a graph and nothing else: 8,192 tokens of 128 KiB
MEMORY = GraphMemory(
    np.array([1, 256]), np.full(2, float(GIB)), np.zeros(2), Origin.ASSUMED, "by hand"
)
FEW, MANY = BucketSet("few", (8, 64)), BucketSet("many", (1, 2, 4, 8, 16, 32, 64, 128))
PER_TOKEN = 128 * 1024


def spec_of(sets, kv_tokens: int = 80_000, **options) -> SweepSpec:
    return SweepSpec(
        *(Machine(kv_tokens), assumed_step_cost(), MEMORY, PER_TOKEN, sweep_sets(sets), len(TRACE)),
        policy=PoolPolicy.PRIVATE,
        **options,
    )


def swept(sets, kv_tokens: int = 80_000, progress=None, **options) -> Sweep:
    return sweep(TRACE, spec_of(sets, kv_tokens, **options), progress)


def test_graphs_take_kv_cache():
    """2 GiB of graphs at 128 KiB a token are 16,384 tokens; a token begun is a token lost."""
    machine = Machine(80_000)
    assert machine_beside_graphs(machine, 2 * GIB, PER_TOKEN).kv_tokens == 80_000 - 16_384
    assert machine_beside_graphs(machine, PER_TOKEN + 1, PER_TOKEN).kv_tokens == 80_000 - 2
    assert machine_beside_graphs(machine, 0, PER_TOKEN) == machine


def test_no_room_is_said_before_the_run():
    """10 GiB are 81,920 tokens of a cache of 80,000; a rate of bytes a token must be above 0."""
    with pytest.raises(SettingError, match="10.00 GiB, which is 81,920 KV tokens of 80,000"):
        machine_beside_graphs(Machine(80_000), 10 * GIB, PER_TOKEN)
    with pytest.raises(SettingError, match="kv_bytes_per_token is 0"):
        machine_beside_graphs(Machine(80_000), 1, 0)


def test_rows_are_runs_of_their_own():
    """Each row is the simulation of its set with what its graphs leave, under its load."""
    found = swept([None, FEW], loads=(1.0, 2.0), ttft_limit_s=1.0)
    assert [(row.load, row.name) for row in found.rows] == [
        *((1.0, "eager"), (1.0, "few")),
        *((2.0, "eager"), (2.0, "few")),
    ]
    row = found.at(2.0)[1]
    assert row.graph_bytes == graph_bytes(FEW.sizes, MEMORY, PoolPolicy.PRIVATE) == 2 * GIB
    alone = simulate(
        *(scaled_arrivals(TRACE, 2.0), Machine(row.kv_tokens), assumed_step_cost(), FEW.sizes)
    )
    assert row.kv_tokens == 80_000 - 16_384 and row.makespan_s == alone.makespan_s
    assert row.tpot_p50_ms == alone.latency().tpot_ms.p50
    assert row.goodput_rps == alone.goodput_rps(ttft_limit_s=1.0)
    assert found.at(1.0)[0].eager_steps > 0 and found.at(1.0)[0].kv_tokens == 80_000


def test_more_graphs_stop_paying_when_the_cache_runs_short():
    """Eight graphs leave 80,000 - 65,536 tokens: a token is quicker, and at four times the load
    fewer requests are served in time than with two graphs."""
    found = swept([FEW, MANY], loads=(4.0,), ttft_limit_s=5.0)
    few, many = found.rows
    assert many.kv_tokens < few.kv_tokens and many.preemptions > few.preemptions
    assert many.goodput_rps < few.goodput_rps
    assert found.best(4.0).name == "few"


def test_a_set_without_room_is_a_row_that_says_so():
    """Eight GiB of a cache of 8 GiB: the row has the reason, the other set is served."""
    seen: list[float] = []
    found = swept([FEW, MANY], kv_tokens=65_536, loads=(1.0,), progress=seen.append)
    few, many = found.rows
    assert few.error is None and many.error is not None and "nothing is left" in many.error
    assert many.goodput_rps is None and many.kv_tokens == 0
    assert found.best(1.0).name == "few" and sorted(set(seen)) == [0.5, 1.0]


def test_the_best_by_hand():
    """Higher goodput and lower latency are better; within 5 % the fewest graphs."""
    rows = tuple(
        SweepRow(str(n), tuple(range(1, n + 1)), 1.0, 0.0, 1, goodput_rps=good, tpot_p50_ms=tpot)
        for n, good, tpot in ((1, 9.0, 20.0), (2, 9.8, 12.0), (8, 10.0, 11.8), (9, 8.0, 30.0))
    )
    found = Sweep(rows)
    assert found.best(1.0).name == "8" and found.best(1.0, within=0.05).name == "2"
    assert found.best(1.0, "tpot_p50_ms").name == "8"
    assert found.best(1.0, "tpot_p50_ms", within=0.05).name == "2"
    with pytest.raises(SettingError, match="No set was served under load 3"):
        found.best(3.0)


def test_requests_come_as_the_spec_says():
    """Half the load twice as fast is the load itself; a typed share of every prompt is cached; in
    a closed loop a load of 2 has twice as many in flight, whenever requests would arrive."""
    whole = swept([FEW], loads=(1.0,)).rows[0]
    half = swept([FEW], loads=(2.0,), base_load=0.5).rows[0]
    assert replace(half, load=1.0) == whole
    machine = Machine(whole.kv_tokens)
    run = (machine, assumed_step_cost(), FEW.sizes)
    cached = swept([FEW], loads=(1.0,), prefix_hit_rate=0.5).rows[0]
    alone = simulate(with_prefix_hit_rate(TRACE, 0.5), *run)
    assert cached.ttft_p50_ms == alone.latency().ttft_ms.p50 != whole.ttft_p50_ms
    closed = swept([FEW], loads=(2.0,), concurrency=8, base_load=3.0).rows[0]
    assert closed.makespan_s == simulate(TRACE, *run, concurrency=16).makespan_s


def test_what_is_done_is_not_run_again():
    """Rows given are kept as they are, and a run that is ended keeps what it had."""
    found = swept([None, FEW, MANY], loads=(1.0,))

    class EndedError(Exception):
        pass

    def end(share: float) -> None:
        if len(rows) == 2:
            raise EndedError

    rows: list[SweepRow] = []
    with pytest.raises(EndedError):
        sweep(TRACE, spec_of([None, FEW, MANY], loads=(1.0,)), end, rows)
    assert tuple(rows) == found.rows[:2]
    kept = rows[0]
    again = sweep(TRACE, spec_of([None, FEW, MANY], loads=(1.0,)), None, rows)
    assert again.rows == found.rows and again.rows[0] is kept


def test_how_long_it_takes_by_hand():
    """600 requests at 100 us each in plain Python, half of it once half is done; a million runs of
    one compiled request take a second and three to load. Half done in 4 s leaves 4 s."""
    spec = spec_of([FEW], loads=(1.0, 2.0))
    assert sweep_seconds(spec) == pytest.approx(600 * 100e-6)
    assert sweep_seconds(spec, done=1) == pytest.approx(300 * 100e-6)
    long = replace(spec, num_requests=500_000)
    if pays_to_compile(long):
        assert sweep_seconds(long) == pytest.approx(3.0 + 1.0)
    assert seconds_left(4.0, 0.0, 0.5) == 4.0 and seconds_left(3.0, 0.5, 0.75) == 3.0
    assert seconds_left(1.0, 0.5, 0.5) is None


def test_nothing_to_sweep_is_an_error():
    """No set or no load is no sweep."""
    for sets, loads in (([], (1.0,)), ([FEW], ())):
        with pytest.raises(SettingError, match="at least one"):
            swept(sets, loads=loads)
