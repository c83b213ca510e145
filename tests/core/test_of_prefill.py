"""Steps counted by tokens: by hand, against measured prefill chunks, and what holds of each."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.calibration.lockstep import lockstep
from core.calibration.recording import load_engine_run
from core.cost.family import family_of
from core.cost.mean_step import step_times_us
from core.cost.of_prefill import MAX_TOKENS, formula_prefill_cost, prefill_step_cost
from core.cost.of_tokens import cost_by_tokens, cost_for, decodes, memory_by_tokens
from core.errors import SettingError
from core.padding import bucket_of
from core.profiles import comparison_profiles, shipped_profiles
from core.records import (
    DeviceInfo,
    MeasureRow,
    MeasureSpec,
    Origin,
    Profile,
    SizeUnit,
    StepHistogram,
)
from core.simulate import Machine, PrefillCost, assumed_prefill, family_times
from core.step_cost import (
    assumed_graph_memory,
    assumed_step_cost,
    capture_ms_at,
    eager_us_at,
    graph_step_us_at,
    memory_from_profile,
    replay_us_at,
)
from tests.conftest import DATA

TOKENS = StepHistogram.from_batches([8, 2048], unit=SizeUnit.TOKENS)
LENGTHS = StepHistogram.from_batches([100, 2000], unit=SizeUnit.LENGTH)
DECODE = assumed_step_cost(
    launch_us=2000.0, launch_us_per_row=1.0, step_us=990.0, step_us_per_row=10.0, capture_ms=30.0
)
"""A decode step of one request: 1,000 us replayed, 2,001 us eager."""
PREFILL = PrefillCost(
    *(400.0, 20.0, 0.1, 256, Origin.FITTED, "fitted to a run"),
    us_per_prompt=100.0,
    us_per_pair=0.01,
)
SIZES = st.lists(st.integers(1, 2 * MAX_TOKENS), min_size=2, max_size=40)
TIMES = st.floats(0.0, 1e5)


def chunks(*sizes: int, **changes) -> Profile:
    """Prefill chunks on 300 + 20 x tokens us replayed, 500 us more eager."""
    rows = [
        MeasureRow(
            size,
            replay_us=300.0 + 20.0 * size,
            eager_us=800.0 + 20.0 * size,
            copy_us=5.0,
            capture_ms=10.0,
            pool_bytes=1000 * size,
            graph_bytes=50,
            samples=20,
        )
        for size in sizes
    ]
    rows = [dataclasses.replace(row, **changes) for row in rows]
    spec = MeasureSpec(sizes, target="llama-prefill")
    return Profile(DeviceInfo("cuda", "Test card", True), spec, tuple(rows), "2026-01-02T03:04:05")


def test_which_steps_count_rows_of_decode_steps():
    """Requests, and drafted tokens that are known to hold no prompt; other tokens may hold one."""
    drafted = dataclasses.replace(TOKENS, decode_only=True)
    assert decodes(StepHistogram.from_batches([1])) and decodes(drafted)
    assert not decodes(TOKENS) and not decodes(LENGTHS)
    for steps in (StepHistogram.from_batches([1]), drafted):
        assert cost_for(steps, DECODE, PREFILL) is DECODE


def test_tokens_of_prompts_alone_by_hand():
    """400 + 20 us a token, no less than the decode step of one, eager no less than its launch."""
    cost = prefill_step_cost(DECODE, PREFILL, None, SizeUnit.TOKENS)
    # 30 tokens take 1,000 us, the shortest decode step; 81 take 2,020, more than the launch.
    sizes = [1, 30, 31, 80, 81, 5000, 3 * MAX_TOKENS]
    straight = [400.0 + 20.0 * size for size in sizes]
    assert replay_us_at(cost, sizes) == pytest.approx([1000.0, 1000.0, *straight[2:]])
    assert eager_us_at(cost, sizes) == pytest.approx([2001.0] * 4 + straight[4:])
    assert cost.unit is SizeUnit.TOKENS and cost.origin is Origin.ASSUMED


def test_tokens_of_mixed_steps_by_hand():
    """Rows of a decode step up to 16, 990 + 10 us each; each token beyond adds a prompt's 20 us."""
    cost = cost_for(TOKENS, DECODE, PREFILL, max_rows=16)
    sizes = [1, 16, 46, 47, 116, 8192]
    # 16 rows take 1,150 us. 16 tokens of prompts take no less than 1,000, the shortest decode step,
    # as 30 do: what further ones take more is 20 us each from there, 400 + 20 us a token in all.
    assert replay_us_at(cost, sizes) == pytest.approx([1000, 1150, 1470, 1490, 2870, 164_390])
    # the decode step's launch, 2,000 + 1 us a row, until the device takes longer
    assert eager_us_at(cost, sizes) == pytest.approx([2001, 2016, 2016, 2016, 2870, 164_390])
    assert cost.unit is SizeUnit.TOKENS and cost.origin is Origin.ASSUMED
    assert cost.source.startswith("the first 16 tokens of a step as rows of decode steps (assumed)")
    assert "20 µs a token, prefill fitted (fitted to a run)" in cost.source


def test_rows_end_where_the_decode_curve_does():
    """By default with vLLM's 256 requests; no row at all is refused."""
    assert "the first 256 tokens" in cost_for(TOKENS, DECODE, PREFILL).source
    short = assumed_step_cost(8)
    assert "the first 8 tokens" in cost_for(TOKENS, short, PREFILL).source
    with pytest.raises(SettingError, match="0 requests decode together"):
        cost_for(TOKENS, DECODE, PREFILL, max_rows=0)


def test_prompt_lengths_by_hand():
    """One prompt a step: its own work, and n (n + 1) / 2 pairs of its attention, are added."""
    cost = cost_for(LENGTHS, DECODE, PREFILL)
    # 2,000 tokens: 400 + 100 + 40,000 + 0.01 x 2,000 x 2,001 / 2 = 60,510 us
    assert replay_us_at(cost, [2000])[0] == pytest.approx(60_510.0, rel=3e-4)
    assert eager_us_at(cost, [2000])[0] == pytest.approx(60_510.0, rel=3e-4)
    # 10 tokens: 400 + 100 + 200 + 0.55 = 700.55, less than the shortest decode step
    assert replay_us_at(cost, [10])[0] == pytest.approx(1000.0)
    assert cost.unit is SizeUnit.LENGTH and "one prompt a step" in cost.source


def test_the_assumption_follows_the_decode_cost():
    """Nothing fitted: 3/4 of the smallest replay, and 305 tokens for each such replay."""
    cost = prefill_step_cost(DECODE, None, None, SizeUnit.TOKENS)
    assert replay_us_at(cost, [3050])[0] == pytest.approx(750.0 + 10 * 1000.0)
    assert cost.origin is Origin.ASSUMED and "8B model" in cost.source


def test_captures_take_what_those_of_decode_graphs_take():
    """Up to the largest decode size; a slope between two decode sizes says nothing of prompts."""
    rising = dataclasses.replace(DECODE, capture_ms=np.linspace(10.0, 20.0, len(DECODE.sizes)))
    cost = formula_prefill_cost(rising, PREFILL, SizeUnit.LENGTH)
    assert capture_ms_at(cost, [1, 512, 8192]) == pytest.approx([10.0, 20.0, 20.0])


def test_measured_chunks_win():
    """The fit of measured chunks, with their own captures, and not what a formula says."""
    cost = cost_for(LENGTHS, DECODE, PREFILL, chunks(64, 128, 256, 512, 1024))
    assert replay_us_at(cost, [64, 1024]) == pytest.approx([1580.0, 20_780.0])
    assert eager_us_at(cost, [1024]) == pytest.approx([21_280.0])
    assert graph_step_us_at(cost, [64]) == pytest.approx([1585.0])  # inputs are copied in
    assert capture_ms_at(cost, [64]) == pytest.approx([10.0])
    assert cost.origin is Origin.FITTED and cost.unit is SizeUnit.LENGTH
    assert "64 to 1,024 tokens measured on Test card" in cost.source
    # 10 tokens would take 500 us on the line; no step is shorter than a decode step of one.
    assert replay_us_at(cost, [10]) == pytest.approx([1000.0])


def test_measured_chunks_beside_decode_rows():
    """Beyond the rows the chunks' slope is added; eager is what submitting a chunk takes; a step
    that is put together is estimated."""
    prompts = chunks(64, 128, 256, 512, 1024)
    cost = cost_for(TOKENS, DECODE, PREFILL, prompts, max_rows=64)
    # 1,630 us for 64 rows, 20 us for each of 960 tokens beyond
    assert replay_us_at(cost, [64, 1024]) == pytest.approx([1630.0, 20_830.0])
    assert eager_us_at(cost, [64, 1024]) == pytest.approx([2064.0, 21_280.0])
    # no less than if all were prompts', where rows take 400 us less
    fast = dataclasses.replace(DECODE, replay_us=DECODE.replay_us - 400)
    floor = cost_for(TOKENS, fast, PREFILL, prompts, max_rows=64)
    assert replay_us_at(floor, [1024]) == pytest.approx([20_780.0])
    assert capture_ms_at(cost, [64, 1024]) == pytest.approx([30.0, 10.0])
    fitted = dataclasses.replace(DECODE, origin=Origin.FITTED)
    assert cost_for(TOKENS, fitted, None, prompts).origin is Origin.ESTIMATED


def test_chunks_that_tell_too_little_are_not_priced_by():
    """Without replays, or at one size, the formula holds; captures that were not timed too."""
    formula = cost_for(LENGTHS, DECODE, PREFILL)
    for prompts in (chunks(64, 128, replay_us=None), chunks(64)):
        assert cost_for(LENGTHS, DECODE, PREFILL, prompts).source == formula.source
    untimed = cost_for(LENGTHS, DECODE, PREFILL, chunks(64, 128, capture_ms=None))
    assert capture_ms_at(untimed, [64]) == pytest.approx([30.0])


def test_graph_memory_by_tokens():
    """Measured where chunks were, else a token is taken for a row, which is no measurement."""
    assumed = assumed_graph_memory()
    taken = memory_by_tokens(assumed)
    assert taken.pool_bytes.tolist() == assumed.pool_bytes.tolist()
    assert taken.origin is Origin.ASSUMED and "a graph of so many tokens" in taken.source
    measured = dataclasses.replace(assumed, origin=Origin.MEASURED)
    assert memory_by_tokens(measured).origin is Origin.ESTIMATED
    found = memory_by_tokens(assumed, chunks(64, 128))
    assert found.origin is Origin.MEASURED and found.pool_bytes.tolist() == [64_000, 128_000]
    assert memory_by_tokens(assumed, chunks(64, pool_bytes=None)).origin is Origin.ASSUMED


def test_the_shipped_prefill_chunks_price_prompts():
    """What the H200 measured at 2,048 tokens, where a decode step of so many rows says more."""
    every = [*shipped_profiles().values(), *comparison_profiles().values()]
    family = family_of(shipped_profiles()["h200-llama-8b"], every)
    decode, prefill = family_times(family)
    assert family.prompts is not None
    rows = {row.size: row for row in family.prompts.rows}
    cost = cost_for(LENGTHS, decode, prefill, family.prompts)
    assert replay_us_at(cost, [2048])[0] == pytest.approx(rows[2048].replay_us, rel=1e-3)
    assert replay_us_at(decode, [2048])[0] > 1.3 * replay_us_at(cost, [2048])[0]
    assert "measured on NVIDIA H200" in cost.source
    memory = memory_by_tokens(memory_from_profile(family.profile), family.prompts)
    assert memory.pool_bytes[-1] == rows[2048].pool_bytes


@given(
    *(TIMES, TIMES, TIMES, TIMES),
    *(TIMES, st.floats(0, 100), TIMES, st.floats(0, 0.1)),
    *(st.sampled_from((SizeUnit.TOKENS, SizeUnit.LENGTH)), SIZES, st.integers(1, 600)),
)
def test_more_tokens_never_take_less_and_eager_is_never_faster(
    launch, launch_row, step, step_row, base, token, prompt, pair, unit, sizes, rows
):
    """For every decode cost and every formula, fitted or assumed."""
    decode = assumed_step_cost(
        launch_us=launch, launch_us_per_row=launch_row, step_us=step, step_us_per_row=step_row
    )
    given_prefill = PrefillCost(
        *(base, token, 0.0, 256, Origin.FITTED, "x"), us_per_prompt=prompt, us_per_pair=pair
    )
    for prefill in (given_prefill, None if step + step_row == 0 else assumed_prefill(decode)):
        cost = cost_by_tokens(unit, decode, prefill, max_rows=rows)
        at = np.sort(sizes)
        replay, eager = replay_us_at(cost, at), eager_us_at(cost, at)
        assert (np.diff(replay) >= -1e-9 * replay[1:]).all()
        assert (np.diff(eager) >= -1e-9 * eager[1:]).all()
        assert (eager >= replay * (1 - 1e-12)).all()
        assert (replay >= replay_us_at(decode, [1])[0] * (1 - 1e-12)).all()


def test_recorded_steps_with_prefill_by_their_tokens():
    """917 steps of vLLM on an H200: the assumed cost by tokens is off by 15 % in the median, the
    decode curve by 50 %, prompts alone by 30 %; 3,039 decode steps are priced as before."""
    run = load_engine_run(DATA / "engine_runs" / "vllm-0.23-h200-default.json.gz")
    machine = Machine(kv_tokens=840_768, max_num_seqs=256, max_num_batched_tokens=2048)
    steps = lockstep(run, machine)
    decode = assumed_step_cost()
    costs = (
        cost_by_tokens(SizeUnit.TOKENS, decode),
        decode,
        prefill_step_cost(decode, None, None, SizeUnit.TOKENS),
    )

    def missed(cost, sizes, real_us):
        bucket = bucket_of(sizes, run.capture_sizes)
        return float(np.median(np.abs(step_times_us(sizes, bucket, cost) / real_us - 1)))

    mixed = steps.where(steps.tokens > 0)
    assert len(mixed) == 917
    found = [missed(cost, mixed.tokens, mixed.us) for cost in costs]
    assert found == pytest.approx([0.155, 0.502, 0.303], abs=0.01)
    rows = steps.where(steps.tokens == 0)
    assert missed(costs[0], rows.rows, rows.us) == missed(decode, rows.rows, rows.us)
