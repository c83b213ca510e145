"""Real graphs on a real card: what is replayed, what it costs, what is left behind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from core.errors import CaptureSizesError
from core.records import MeasureSpec, ModelShape, PoolPolicy, to_json_dict
from gpu_worker import pool_memory, targets
from gpu_worker.bench import Bench
from gpu_worker.buffers import StaticInputs
from gpu_worker.correctness import compare
from gpu_worker.graphs import GraphRunner
from gpu_worker.recording import FullCapture
from gpu_worker.session import Session
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card on this machine"),
]

SMALL = ModelShape("small", 2, 512, 8, 2, 64, 1024, 2048, "bfloat16")


def small_spec(*sizes: int, **kwargs) -> MeasureSpec:
    return MeasureSpec(sizes, **{"model": SMALL, "context_tokens": 100, "samples": 10, **kwargs})


@pytest.fixture
def card() -> torch.device:
    return torch.device("cuda", 0)


def make(spec: MeasureSpec, card: torch.device):
    """Target, inputs and runner."""
    target = targets.build(spec, card)
    inputs = StaticInputs(target.fields(), target.padding(), max(spec.sizes), card)
    return (
        target,
        inputs,
        GraphRunner(FullCapture(target.step, inputs.max_size), inputs, spec.pool_policy),
    )


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.inference_mode():
        yield


def test_replay_equals_eager_for_every_live_count(card: torch.device) -> None:
    """Every number of requests from 1 to 8 in its bucket, each with other inputs: the replay
    gives what the eager step gives at the same padded size."""
    target, inputs, runner = make(small_spec(1, 2, 4, 8), card)
    for size in (8, 4, 2, 1):
        runner.warm_up(size, 2)
        runner.capture(size)
    for live in range(1, 9):
        bucket = runner.bucket_of(live)
        assert bucket == 1 << (live - 1).bit_length()
        inputs.copy_in(inputs.stage(target.batch(live, live)))
        eager = target.step(inputs.views(bucket))[:live].clone()
        verdict = compare(runner.replay(bucket)[:live], eager)
        assert verdict.equal, f"{live} in {bucket}: apart by {verdict.max_abs_error}"
    with pytest.raises(CaptureSizesError, match="No capture size holds 9"):
        runner.bucket_of(9)
    runner.release()


def test_a_full_row(card: torch.device) -> None:
    """Every field that a card can fill is filled, and the figures fit together."""
    bench = Bench(small_spec(1, 8, 32))
    rows = [bench.row(size) for size in (32, 8, 1)]
    for row in rows:
        assert row.error is None, row.error
        assert row.equal, row.max_abs_error
        assert row.replay_q1_us <= row.replay_us <= row.replay_q3_us
        assert 0 < row.replay_host_us < row.eager_host_us
        assert row.replay_us < row.eager_us
        assert 0 < row.instantiate_ms < row.capture_ms
        assert row.pool_bytes >= 2 * 2**20 and row.pool_bytes % 2**20 == 0
        assert row.nodes["kernel"] >= 2 * 8
        assert row.copy_us > 0 and row.achieved_gbps > 0 and row.samples == 10
    assert rows[0].pool_growth_bytes > 0
    assert rows[1].pool_growth_bytes == rows[2].pool_growth_bytes == 0
    assert bench.info.graphs and bench.info.copy_gbps > 100
    assert not bench.poisoned


def test_pools_by_policy(card: torch.device) -> None:
    """Largest first takes no more than smallest first, and that no more than private pools."""
    totals = {}
    for policy in PoolPolicy:
        # Large enough that the allocator's steps of 20 MiB do not decide.
        spec = small_spec(64, 512, 2048, context_tokens=16, pool_policy=policy)
        _, _, runner = make(spec, card)
        for size in spec.measuring_order:
            runner.warm_up(size, 1)
            runner.capture(size)
        totals[policy] = sum(c.pool_growth_bytes for c in runner.captured.values())
        runner.release()
    largest, smallest, private = (
        totals[PoolPolicy.SHARED_LARGEST_FIRST],
        totals[PoolPolicy.SHARED_SMALLEST_FIRST],
        totals[PoolPolicy.PRIVATE],
    )
    assert 0 < largest <= smallest <= private
    assert largest < private


def test_release_gives_all_memory_back(card: torch.device) -> None:
    """A second round of captures takes what the first took: nothing is left behind."""
    target, inputs, _ = make(small_spec(1, 8, 32), card)
    used = []
    for _ in range(3):
        runner = GraphRunner(
            FullCapture(target.step, inputs.max_size), inputs, PoolPolicy.SHARED_LARGEST_FIRST
        )
        for size in (32, 8, 1):
            runner.warm_up(size, 1)
            runner.capture(size)
        runner.release()
        del runner
        used.append(pool_memory.level(card))
    assert used[2].reserved == used[1].reserved
    assert abs(used[2].used - used[1].used) <= 2 * 2**20


SPOILED = """
import json, sys
from core.records import spec_from_json, to_json_dict
from gpu_worker.bench import Bench
bench = Bench(spec_from_json(json.loads(sys.argv[1])))
step = bench._target.step
def waits(inputs):
    out = step(inputs)
    out[0, 0].item()
    return out
bench._runner._how._step = waits
print(json.dumps([to_json_dict(bench.row(2)), bench.poisoned]))
"""


def test_a_failed_capture_is_a_row() -> None:
    """A step that waits for the CPU cannot be captured: its row names the first cause, not the
    error that follows from it, and the process is given up. (Run apart: it spoils its process.)"""
    spec = json.dumps(to_json_dict(small_spec(1, 2)))
    done = subprocess.run(
        [sys.executable, "-c", SPOILED, spec], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    row, poisoned = json.loads(done.stdout.splitlines()[-1])
    assert "capturing" in row["error"] and "previous error" not in row["error"]
    assert row["replay_us"] is None and row["eager_us"] is None and poisoned


def test_out_of_memory_at_one_size_is_a_row() -> None:
    """A size that does not fit the card is reported, and the smaller ones are measured."""
    spec = small_spec(2, 2**14, context_tokens=2**14, samples=3)
    session = Session(spec)
    session.open()
    big = session.measure(2**14, [])
    assert big.error is not None and "do not fit" in big.error
    assert session.measure(2, []).error is None
    session.close()
