"""The rehearsal with real graphs, real streams and every kind of target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
import torch

from core.records import CaptureMode, MeasureSpec, ModelShape
from gpu_worker import preflight, targets
from gpu_worker.bench import Bench, capture_of
from gpu_worker.buffers import StaticInputs
from gpu_worker.correctness import compare
from gpu_worker.graphs import GraphRunner
from gpu_worker.pipeline import Landing, Pipeline
from gpu_worker.rehearsal import Rehearsal, rehearse
from gpu_worker.serving import ReplayServer
from gpu_worker.targets import ops, plain_ops
from gpu_worker.targets.callable import SETTING
from gpu_worker.traffic import Traffic, live_counts
from tests.gpu_worker.hazards import MUTANTS

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card on this machine"),
]

SIZES = (1, 2, 4, 8)
SHAPE = ModelShape("rehearsal", 2, 256, 8, 2, 32, 512, 1000, "float32")
SLEEP_CYCLES = 20_000_000  # about 10 ms: far longer than a step
Batch = Mapping[str, torch.Tensor]


@pytest.fixture(autouse=True)
def exact_and_without_gradients():
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.inference_mode():
        yield


class Stage:
    """Target, inputs, graphs and traffic of one spec."""

    def __init__(self, **kwargs) -> None:
        values = {"model": SHAPE, "context_tokens": 40, **kwargs}
        self.spec = MeasureSpec(SIZES, **values)
        self.card = torch.device("cuda", 0)
        self.target = targets.build(self.spec, self.card)
        self.inputs = StaticInputs(
            self.target.fields(), self.target.padding(), max(SIZES), self.card
        )
        self.runner = GraphRunner(
            capture_of(self.spec, self.target), self.inputs, self.spec.pool_policy
        )
        for size in self.spec.measuring_order:
            self.runner.warm_up(size, 1)
            self.runner.capture(size)

    def rehearse(self, serve: Callable[[Batch], torch.Tensor], rounds: int = 3) -> Rehearsal:
        traffic = Traffic(40, 16, self.target.num_blocks, SHAPE.vocab_size, 0)
        batches = traffic.batches(list(live_counts(SIZES, rounds)))

        def eager(batch: Batch) -> torch.Tensor:
            return self.target.step({n: t.int().to(self.card) for n, t in batch.items()})

        return rehearse(serve, eager, self.target.state(), batches)


@pytest.mark.parametrize("capture", list(CaptureMode))
def test_graphs_serve_traffic_as_eager_does(capture: CaptureMode) -> None:
    """Sixty steps, full and piecewise: results and KV cache agree with eager on the live rows."""
    stage = Stage(capture=capture)
    result = stage.rehearse(ReplayServer(stage.inputs, {"": stage.runner}).serve)
    assert result.equal, str(result)
    pieces = 1 if capture is CaptureMode.FULL else SHAPE.num_layers + 1
    assert all(len(c.recording.graphs) == pieces for c in stage.runner.captured.values())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.__name__)
def test_every_mutant_is_caught(mutant: type[ReplayServer]) -> None:
    """The same mistakes with real graphs."""
    stage = Stage()
    result = stage.rehearse(mutant(stage.inputs, {"": stage.runner}).serve)
    assert not result.equal, str(result)


class Delayed(Pipeline):
    """Right, but the copies take long: the run stream would overtake them without its waits."""

    def _wait_taken(self, landing: Landing) -> None:
        super()._wait_taken(landing)
        torch.cuda._sleep(SLEEP_CYCLES)


class RunDoesNotWait(Delayed):
    """The step starts whether or not its inputs have arrived."""

    def _wait_copied(self, landing: Landing) -> None:
        pass


class CopyDoesNotWait(Pipeline):
    """The next inputs arrive whether or not the last ones were read; reading is slow."""

    def _wait_taken(self, landing: Landing) -> None:
        pass

    def _wait_copied(self, landing: Landing) -> None:
        super()._wait_copied(landing)
        torch.cuda._sleep(SLEEP_CYCLES)


class SlowRun(Pipeline):
    """Right, and reading is slow."""

    def _wait_copied(self, landing: Landing) -> None:
        super()._wait_copied(landing)
        torch.cuda._sleep(SLEEP_CYCLES)


@pytest.mark.parametrize(
    ("pipeline", "right"),
    [
        (Pipeline, True),
        (Delayed, True),
        (SlowRun, True),
        (RunDoesNotWait, False),
        (CopyDoesNotWait, False),
    ],
)
def test_two_streams_need_both_waits(pipeline: type[Pipeline], right: bool) -> None:
    """Copying beside the replay is right with an event each way; without one of them the
    rehearsal sees it."""
    stage = Stage()
    served = pipeline(stage.inputs, stage.runner)
    results: list[torch.Tensor] = []

    def serve(batch: Batch) -> torch.Tensor:
        # Not waited for: the host runs ahead by as many steps as there are landing buffers.
        results.append(served.submit(batch))
        return results[-1]

    torch.cuda.synchronize()
    traffic = Traffic(40, 16, stage.target.num_blocks, SHAPE.vocab_size, 0)
    batches = traffic.batches(list(live_counts(SIZES, 1)))
    before = [tensor.clone() for tensor in stage.target.state()]
    want = [
        stage.target.step({n: t.int().cuda() for n, t in batch.items()}).clone()
        for batch in batches
    ]
    for tensor, saved in zip(stage.target.state(), before, strict=True):
        tensor.copy_(saved)
    torch.cuda.synchronize()
    got = [serve(batch) for batch in batches]
    served.finish()
    assert all(compare(g, w).equal for g, w in zip(got, want, strict=True)) is right


@pytest.mark.parametrize("capture", list(CaptureMode))
def test_prefill_chunks(capture: CaptureMode) -> None:
    """Chunks of a prompt are captured and measured by tokens."""
    model = replace(SHAPE, head_dim=64, dtype="bfloat16")
    spec = MeasureSpec(
        (16, 64, 256), target="llama-prefill", model=model, context_tokens=100, samples=5,
        capture=capture,
    )  # fmt: skip
    bench = Bench(spec)
    for size in spec.measuring_order:
        row = bench.row(size)
        assert row.error is None, row.error
        assert row.equal, f"{size}: apart by {row.max_abs_error}"


def test_experts_on_the_card() -> None:
    """Grouped kernels against the plain form, few rows and many, and a captured step of it."""
    torch.manual_seed(0)
    kernels = ops.choose(torch.device("cuda", 0), SHAPE)
    for rows, number, chosen in ((1, 8, 2), (7, 8, 2), (300, 8, 2), (64, 3, 1)):
        x = torch.randn(rows, 256, device="cuda")
        router = torch.randn(number, 256, device="cuda")
        gate_up = torch.randn(number, 2 * 96, 256, device="cuda") / 16
        down = torch.randn(number, 256, 96, device="cuda") / 10
        got = kernels.experts(x, router, gate_up, down, chosen)
        assert compare(got, plain_ops.experts(x, router, gate_up, down, chosen)).equal
    stage = Stage(model=replace(SHAPE, num_experts=8, experts_per_token=2))
    result = stage.rehearse(ReplayServer(stage.inputs, {"": stage.runner}).serve, rounds=1)
    assert result.equal, str(result)


def test_ones_own_step_that_waits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row names file, line and operation, before any capture has failed."""
    own = "tests.gpu_worker.own_step"
    monkeypatch.setenv(SETTING, f"{own}:make, {own}:make_waiting")
    good = Bench(MeasureSpec((2, 4), target=f"callable:{own}:make", samples=3)).row(4)
    assert good.error is None and good.equal and good.achieved_gbps is None
    bad = Bench(MeasureSpec((2, 4), target=f"callable:{own}:make_waiting", samples=3)).row(4)
    assert bad.error is not None and "own_step.py, line" in bad.error
    assert "Tensor.item reads a value on the CPU" in bad.error


def test_copies_from_unpinned_memory_are_named() -> None:
    """From pageable memory a copy cannot be captured; from pinned memory it can."""
    target = torch.empty(4, device="cuda")
    pageable, pinned = torch.zeros(4), torch.zeros(4).pin_memory()
    kinds = [f.kind for f in preflight.inspect(lambda: target.copy_(pageable))]
    assert "copies from unpinned memory" in kinds
    assert preflight.inspect(lambda: target.copy_(pinned, non_blocking=True)) == []
