"""One spec on one device: the model, its buffers and graphs, and a row a bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from core.errors import ProjectError, SettingError
from core.model.step_bounds import check_step
from core.records import CaptureMode, DeviceInfo, MeasureRow, MeasureSpec, PoolPolicy
from gpu_worker import correctness, device, preflight, targets, timing
from gpu_worker.buffers import StaticInputs
from gpu_worker.failing import sentence
from gpu_worker.graphs import Capture, Captured, CaptureError, GraphRunner
from gpu_worker.recording import FullCapture, PiecewiseCapture

CHECK_ROUNDS = 2
"""Rounds of other inputs in which replay is compared with eager."""


class Bench:
    """Measures buckets in any order; the caller asks for the largest first."""

    def __init__(self, spec: MeasureSpec) -> None:
        """Build the model. Raises SettingError on a spec that cannot be built."""
        check_step(spec)
        self.spec = spec
        self.device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
        self.info: DeviceInfo = device.describe(self.device)
        with torch.inference_mode():
            self._target = targets.build(spec, self.device)
            self._inputs = StaticInputs(
                self._target.fields(), self._target.padding(), max(spec.sizes), self.device
            )
        self._runner: GraphRunner | None = None
        if self.device.type == "cuda":
            how = capture_of(spec, self._target)
            self._runner = GraphRunner(how, self._inputs, spec.pool_policy)
        self.poisoned = False
        self._inspected = False

    @torch.inference_mode()
    def restore(self, sizes: Sequence[int]) -> None:
        """Capture without measuring, in the order given."""
        if self._runner is not None:
            for size in sizes:
                self._runner.warm_up(size, 1)
                self._runner.capture(size)

    @torch.inference_mode()
    def row(self, size: int) -> MeasureRow:
        """Measure one bucket. What goes wrong is the row's `error`; after an error of the device
        `poisoned` is set, and the process should not be used further."""
        if size > self._target.capacity():
            return MeasureRow(
                size,
                error=f"{size} {self.spec.unit} with {self.spec.context_tokens} tokens of context "
                f"do not fit; the device's free memory holds {self._target.capacity()}",
            )
        try:
            return self._card_row(size) if self._runner is not None else self._cpu_row(size)
        except (ProjectError, RuntimeError, MemoryError) as error:
            self.poisoned = self._runner is not None
            return MeasureRow(size, error=sentence(error, f"size {size:,}"))

    def _cpu_row(self, size: int) -> MeasureRow:
        self._inputs.copy_in(self._inputs.stage(self._target.batch(size, 0)))
        views = self._inputs.views(size)
        timed = self._sample(lambda: self._target.step(views))
        q1, median, q3 = timed.quartiles()
        return MeasureRow(
            size, eager_us=median, eager_q1_us=q1, eager_q3_us=q3, samples=len(timed.span_us)
        )

    def _card_row(self, size: int) -> MeasureRow:
        runner = self._runner
        assert runner is not None
        batch = self._inputs.stage(self._target.batch(size, 0))
        self._inputs.copy_in(batch)
        views = self._inputs.views(size)
        runner.warm_up(size, self.spec.warmup)
        self._preflight(size)
        private = runner.private_pool_bytes(size)
        captured = runner.capture(size)
        verdict = self._check(size)
        self._inputs.copy_in(batch)
        eager = self._sample(lambda: self._target.step(views))
        replay = self._sample(lambda: runner.replay(size))
        copy = self._sample(lambda: (runner.bucket_of(size), self._inputs.copy_in(batch)))
        return self._as_row(size, captured, private, verdict, eager, replay, copy)

    def _preflight(self, size: int) -> None:
        """Once a process, before the first capture. Raises CaptureError with what was found: a
        capture that breaks half-way would tell less and cost the process."""
        if not self._inspected:
            self._inspected = True
            findings = preflight.inspect(lambda: self._target.step(self._inputs.views(size)))
            if findings:
                raise CaptureError("The step cannot be captured: " + "; ".join(map(str, findings)))

    def _as_row(
        self,
        size: int,
        captured: Captured,
        private_bytes: int,
        verdict: correctness.Verdict,
        eager: timing.Timing,
        replay: timing.Timing,
        copy: timing.Timing,
    ) -> MeasureRow:
        eager_q1, eager_median, eager_q3 = eager.quartiles()
        replay_q1, replay_median, replay_q3 = replay.quartiles()
        moved = self._target.bytes_moved(size)
        own_pool = self.spec.pool_policy is PoolPolicy.PRIVATE
        return MeasureRow(
            size,
            eager_us=eager_median,
            eager_q1_us=eager_q1,
            eager_q3_us=eager_q3,
            replay_us=replay_median,
            replay_q1_us=replay_q1,
            replay_q3_us=replay_q3,
            eager_host_us=eager.host_median(),
            replay_host_us=replay.host_median(),
            copy_us=copy.quartiles()[1],
            capture_ms=captured.capture_ms,
            instantiate_ms=captured.instantiate_ms,
            pool_bytes=captured.pool_growth_bytes if own_pool else private_bytes,
            pool_growth_bytes=captured.pool_growth_bytes,
            graph_bytes=captured.graph_bytes,
            nodes=captured.nodes,
            samples=len(replay.span_us),
            equal=verdict.equal,
            max_abs_error=verdict.max_abs_error,
            achieved_gbps=moved / replay_median * 1e-3 if moved is not None else None,
            pieces=len(captured.recording.graphs),
        )

    def _sample(self, action: Callable[[], object]) -> timing.Timing:
        return timing.sample(action, self.spec.samples, self.spec.warmup, self.device)

    def _check(self, size: int) -> correctness.Verdict:
        """Worst of a full batch and one that leaves a padded row, each with new inputs."""
        runner = self._runner
        assert runner is not None
        verdicts = []
        for round in range(1, CHECK_ROUNDS + 1):
            live = size if round % 2 else max(1, size - 1)
            self._inputs.copy_in(self._inputs.stage(self._target.batch(live, round)))
            self._inputs.check_addresses()
            eager = self._target.step(self._inputs.views(size))[:live].clone()
            verdicts.append(correctness.compare(runner.replay(size)[:live], eager))
        return max(verdicts, key=lambda v: (not v.equal, v.max_abs_error))


def capture_of(spec: MeasureSpec, target: targets.Target) -> Capture:
    """How the spec wants the target captured. Raises SettingError if the target has no pieces."""
    if spec.capture is CaptureMode.FULL:
        return FullCapture(target.step, max(spec.sizes))
    pieces = getattr(target, "pieces", None)
    if pieces is None:
        raise SettingError(f"Target {spec.target!r} has no pieces; capture it in full.")
    return PiecewiseCapture(pieces(), max(spec.sizes))
