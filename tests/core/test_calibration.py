"""Recorded runs of a real engine: the rules explain every step, and a fit predicts the others."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from core.calibration.beside import Beside, compare, total_variation
from core.calibration.decode_fit import TABLE_CONTEXT, slots
from core.calibration.fit import fit_steps
from core.calibration.lockstep import StepSamples, lockstep
from core.calibration.recording import EngineRun, load_engine_run
from core.calibration.sources import read_evidence
from core.calibration.tables import cost_from_tables
from core.errors import FileContentError, SettingError
from core.records import Origin, StepHistogram, Trace
from core.simulate import Machine, simulate
from tests.conftest import DATA

RUNS = {
    name: load_engine_run(DATA / "engine_runs" / f"vllm-0.23-h200-{name}.json.gz")
    for name in ("default", "pow2", "eager")
}


def machine_of(run: EngineRun) -> Machine:
    return Machine(run.kv_tokens, max_num_seqs=256, max_num_batched_tokens=2048)


SAMPLES = {name: lockstep(run, machine_of(run)) for name, run in RUNS.items()}


@pytest.mark.parametrize("name", RUNS)
def test_the_rules_explain_every_step_of_a_real_engine(name):
    """Given when each step began, the scheduler's rules give the recorded number of running
    requests before and after every one of them, and first tokens fall on ends of steps."""
    run, samples = RUNS[name], SAMPLES[name]
    assert samples.mismatches == 0 and len(samples) == len(run.step_s)
    decoded = int((samples.rows).sum())
    assert decoded == int((run.trace.output_tokens - 1).sum())
    prefilled = int((samples.tokens - samples.rows)[samples.tokens > 0].sum())
    assert prefilled == int(run.trace.prompt_tokens.sum())
    ends = run.step_start_s + run.step_s
    at = np.searchsorted(ends, run.first_token_s - 1e-5)
    assert np.abs(ends[at] - run.first_token_s).max() < 1e-5


def test_wrong_limits_are_found_out():
    """With a budget of 8,192 the steps do not follow; the error names one with which they do."""
    run = RUNS["pow2"]
    with pytest.raises(SettingError, match="they do with 2048"):
        lockstep(run, replace(machine_of(run), max_num_batched_tokens=8192))


def test_step_times_reach_from_start_to_start():
    """A step lasts until the next begins where work went on; before a pause, its own duration."""
    run = replace(
        RUNS["default"],
        trace=Trace(np.array([4, 4]), np.array([2, 1]), np.array([0.0, 1.0]), name="two"),
        step_start_s=np.array([0.0, 0.011, 1.0]),
        step_s=np.array([0.010, 0.005, 0.004]),
        running_before=np.array([0, 1, 0]),
        waiting_before=np.array([1, 0, 1]),
        running_after=np.array([1, 0, 0]),
    )
    samples = lockstep(run, Machine(1000))
    assert samples.us.round(6).tolist() == [11_000, 5_000, 4_000]
    assert samples.tokens.tolist() == [4, 0, 4] and samples.rows.tolist() == [0, 1, 0]
    assert samples.pairs.tolist() == [10, 0, 10] and samples.context.tolist() == [0, 5, 0]


def made_samples(noise: float = 0.0) -> StepSamples:
    """400 decode steps of 100 + 2 x bucket + 0.01 x context us, 400 of prefill of
    50 + 3 x tokens + 7 x prompts + 0.001 x pairs + 0.02 x context, none on a graph;
    one step in ten is 3 x as long where there is noise."""
    rng = np.random.default_rng(1)
    rows, prompts = rng.integers(1, 9, 800), rng.integers(1, 4, 800)
    context, pairs = rng.integers(10, 9000, 800), rng.integers(10, 90_000, 800)
    tokens = np.where(np.arange(800) < 400, 0, rows + rng.integers(9, 100, 800))
    prompts, pairs = (np.where(tokens > 0, column, 0) for column in (prompts, pairs))
    decode = 100 + 2 * slots(rows, (1, 2, 4, 8)) + 0.01 * context
    mixed = 50 + 3 * tokens + 7 * prompts + 0.001 * pairs + 0.02 * context
    us = np.where(tokens > 0, mixed, decode).astype(np.float64)
    us[::10] *= 1 + 2 * noise
    return StepSamples(np.arange(800.0), us, rows, prompts, tokens, context, pairs)


@pytest.mark.parametrize(("noise", "within"), [(0.0, 1e-6), (1.0, 0.05)])
def test_a_fit_finds_the_terms_that_made_the_steps(noise, within):
    """Exact without noise; with every tenth step three times as long within 5 %."""
    fit = fit_steps(made_samples(noise), (1, 2, 4, 8), source="made")
    host = fit.cost.row_us * np.array([1, 8])  # a full bucket's rows are the host's and the card's
    assert fit.cost.replay_us[[0, 7]] + host == pytest.approx([102, 116], rel=within)
    assert fit.prefill.us_per_token == pytest.approx(3, rel=within)
    assert fit.prefill.context_us_per_token == pytest.approx(0.01, rel=2 * within)
    assert fit.prefill.mixed_context_us_per_token == pytest.approx(0.02, rel=2 * within)
    if not noise:
        without_graph = fit.prefill.base_us + fit.prefill.uncaptured_us  # no step had one
        assert without_graph == pytest.approx(50, rel=1e-6)
        assert fit.prefill.us_per_prompt == pytest.approx(7, rel=1e-6)
        assert fit.prefill.us_per_pair == pytest.approx(0.001, rel=1e-6)
        assert fit.decode_spread < 1e-9 and "0.0 %" in fit.summary
    assert fit.cost.origin is Origin.FITTED and (fit.decode_steps, fit.mixed_steps) == (400, 400)


def test_eager_steps_come_from_their_own_table():
    """A graph run shows no eager decode step: they are given, or last as long as fitted ones."""
    samples = made_samples()
    alone = fit_steps(samples, (1, 2, 4, 8))
    assert np.array_equal(alone.cost.eager_us, alone.cost.replay_us)
    table = fit_steps(samples, (1, 2, 4, 8), eager_us={1: 300.0, 4: 300.0, 8: 300.0})
    assert table.cost.eager_us == pytest.approx(np.full(8, 300.0))
    with pytest.raises(SettingError, match="table of eager steps is empty"):
        fit_steps(samples, (1,), eager_us={})


def test_too_few_steps_are_no_fit():
    """19 steps of a kind are refused and counted."""
    with pytest.raises(SettingError, match="19 decode steps are too few"):
        fit_steps(made_samples().where(np.arange(800) > 380), (1, 2, 4, 8))


def test_a_run_that_was_not_seen_is_predicted():
    """Fitted to the first half of the default run alone, the run with nine powers of two comes out
    within 3 % of its makespan, 5 % and 10 % of TPOT's median and p99, 15 % of TTFT's median, and
    batch sizes at a distance below 0.10; two real runs are 0.12 apart (docs/validation.md)."""
    fit = fit_steps(SAMPLES["default"].first_half, RUNS["default"].capture_sizes)
    run = RUNS["pow2"]
    result = simulate(run.trace, machine_of(run), fit.cost, run.capture_sizes, prefill=fit.prefill)
    found = compare(result, run, SAMPLES["pow2"])
    assert abs(found.makespan.error) < 0.03
    assert abs(found.tpot_p50.error) < 0.05 and abs(found.tpot_p99.error) < 0.10
    assert abs(found.ttft_p50.error) < 0.15
    real = [StepHistogram.from_batches(SAMPLES[n].rows + SAMPLES[n].prompts) for n in RUNS]
    assert found.batch_distance < 0.10 < total_variation(real[0], real[1])
    assert found.batch_distance_by_4 < 0.10


def test_total_variation_by_hand():
    """Shares 0.5, 0.5 of sizes 1, 2 against 0.25, 0.75 of 2, 3: (0.5 + 0.25 + 0.75) / 2 = 0.75.
    In twos (0-1, 2-3): 0.5, 0.5 against 0, 1 is 0.5. A histogram is at 0 from itself."""
    one = StepHistogram.from_mapping({1: 1, 2: 1})
    other = StepHistogram.from_mapping({2: 1, 3: 3})
    assert total_variation(one, other) == pytest.approx(0.75)
    assert total_variation(one, other, width=2) == pytest.approx(0.5)
    assert total_variation(one, one) == 0


def test_errors_are_relative_to_the_real_run():
    """9 simulated for 10 real is 10 % short."""
    assert Beside(10.0, 9.0).error == pytest.approx(-0.1)


def test_other_requests_cannot_be_compared():
    """A simulation of other requests is refused."""
    run = RUNS["pow2"]
    fit = fit_steps(SAMPLES["pow2"], run.capture_sizes)
    short = Trace(np.array([4]), np.array([2]), np.array([0.0]))
    result = simulate(short, machine_of(run), fit.cost, run.capture_sizes, prefill=fit.prefill)
    with pytest.raises(SettingError, match="1138 requests, 1 were simulated"):
        compare(result, run, SAMPLES["pow2"])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no json", "no JSON"),
        (gzip.compress(b"{}", mtime=0)[:-3], "no JSON"),
        (json.dumps({"steps": []}).encode(), "requests lacks"),
        (json.dumps({"requests": [[1, 2]], "steps": [], "kv_blocks": 1, "block": 1}).encode(), "6"),
        (
            json.dumps(
                {"requests": [[None] * 6], "steps": [], "kv_blocks": 1, "block": 1}
            ).encode(),
            "no number",
        ),
    ],
)
def test_files_that_are_no_run_are_refused(tmp_path, content, says):
    """One sentence, with the name of the file."""
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(FileContentError, match=says):
        load_engine_run(path)


def test_decode_tables_become_curves():
    """Batches 3 and 4 share bucket 4: its point is their median, (9 + 11) / 2 = 10; 9 has no graph
    and is left to the eager table."""
    cost = cost_from_tables(
        {1: 8.0, 3: 9.0, 4: 11.0, 8: 14.0, 9: 70.0}, (1, 4, 8), {1: 50.0, 9: 50.0, 16: 50.0}
    )
    assert cost.replay_us[[0, 3, 7]] == pytest.approx([8, 10, 14], rel=0.05)
    assert cost.eager_us == pytest.approx(np.full(16, 50.0)) and cost.origin is Origin.FITTED
    with pytest.raises(SettingError, match="none of its batches"):
        cost_from_tables({9: 70.0}, (1, 4, 8))


def test_the_recorded_decode_tables_become_curves():
    """The default run's table: 5.9 ms at 1, 12 to 13 ms at 160, never falling."""
    run = RUNS["default"]
    cost = cost_from_tables(run.decode_step_us, run.capture_sizes, RUNS["eager"].decode_step_us)
    assert cost.replay_us[0] == pytest.approx(5950, rel=0.02)
    assert 12_000 < cost.replay_us[159] < 13_500
    assert (np.diff(cost.replay_us) >= 0).all() and cost.eager_us[0] > 12_000


def test_iteration_lines_become_samples():
    """A decode step of 30 and a step of one prompt of 512 tokens beside 30 decodes; a dummy step
    and a line of something else are none."""
    lines = [
        "Iteration(1): 0 context requests, 0 context tokens, 30 generation requests, 30 generation "
        "tokens, iteration elapsed time: 6.50 ms",
        "Iteration(2): 1 context requests, 512 context tokens, 30 generation requests, 30 "
        "generation tokens, iteration elapsed time: 14.20 ms",
        "Iteration(3): 0 context requests, 0 context tokens, 1 generation requests, 1 generation "
        "tokens, iteration elapsed time: 3.00 ms (dummy)",
        "Application startup complete.",
    ]
    samples = read_evidence("\n".join([*lines, ""]).encode(), name="iterations.log").samples
    assert samples is not None
    assert samples.us.tolist() == [6500, 14200] and samples.rows.tolist() == [30, 30]
    assert samples.tokens.tolist() == [0, 542] and samples.prompts.tolist() == [0, 1]
    assert samples.start_s.tolist() == pytest.approx([0, 0.0065])
    with pytest.raises(FileContentError, match="enable-logging-iteration-details"):
        read_evidence(b"nothing", name="other.log")


def test_the_host_part_of_a_request_is_told_from_its_slot():
    """Steps of 5,000 + 9 x bucket + 15 x rows + 0.04 x context us on 8, 16, 64, 256: a request that
    is padded to 256 costs its slot, not its share of the host."""
    rng = np.random.default_rng(5)
    rows = rng.integers(1, 60, 3000)
    context = rows * rng.integers(200, 2000, 3000)
    nothing = np.zeros(3000, np.int64)
    us = 5000 + 9 * slots(rows, (8, 16, 64, 256)) + 15 * rows + 0.04 * context
    us = us * rng.normal(1, 0.03, 3000)
    samples = StepSamples(np.arange(3000.0), us, rows, nothing, nothing, context, nothing)
    fit = fit_steps(samples, (8, 16, 64, 256))
    assert fit.cost.row_us == pytest.approx(15, abs=2)
    assert fit.cost.replay_us[[15, 63]] == pytest.approx([5144, 5576], rel=0.01)
    assert fit.prefill.context_us_per_token == pytest.approx(0.04, rel=0.1)


def test_a_bucket_that_no_step_touched_is_priced_from_the_table():
    """A run of at most 16 requests and a table that says 256 take 12,000 us (4,000 of it their
    context and the host): a step of 256 slots costs what the table leaves, not the line's guess."""
    rng = np.random.default_rng(6)
    rows, nothing = rng.integers(1, 17, 400), np.zeros(400, np.int64)
    us = (5000 + 9 * slots(rows, (8, 16, 256)) + 15 * rows) * rng.normal(1, 0.01, 400)
    samples = StepSamples(np.arange(400.0), us, rows, nothing, nothing, nothing, nothing)
    fit = fit_steps(samples, (8, 16, 256), table={256: 12_000.0})
    read = fit.prefill.context_us_per_token * TABLE_CONTEXT * 256
    at = fit.cost.replay_us[255] + 256 * fit.cost.row_us + read
    assert at == pytest.approx(12_000, rel=0.02)


def test_steps_with_prefill_know_their_graphs():
    """4,000 us at least on a graph of up to 512 tokens, 5,000 us more without one, and 15 us a
    decoding request on top: all three are found."""
    rng = np.random.default_rng(7)
    rows = rng.integers(1, 60, 2000)
    tokens = rows + rng.integers(10, 1500, 2000)
    one, nothing = np.ones(2000, np.int64), np.zeros(2000, np.int64)
    caps = tuple(range(8, 513, 8))
    late = np.where(tokens > 512, 5000.0, 0.0)
    us = 15.0 * rows + late + np.maximum(4000.0, 1000 + 2.0 * tokens)
    decode = StepSamples(np.arange(30.0), np.full(30, 2000.0), *(np.ones(30, np.int64),) * 1,
                         *(np.zeros(30, np.int64),) * 4)  # fmt: skip
    mixed = StepSamples(30 + np.arange(2000.0), us, rows, one, tokens, nothing, nothing)
    both = StepSamples(
        *(
            np.concatenate([getattr(decode, name), getattr(mixed, name)])
            for name in ("start_s", "us", "rows", "prompts", "tokens", "context", "pairs")
        )
    )
    prefill = fit_steps(both, caps).prefill
    assert prefill.uncaptured_us == pytest.approx(5000, rel=0.03)
    assert prefill.floor_us == pytest.approx(4000, rel=0.03)
    assert prefill.us_per_row == pytest.approx(15, abs=2)
