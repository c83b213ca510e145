"""Serve the same traffic twice, from graphs and eagerly, and find the first step that differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from gpu_worker.correctness import Verdict, compare

Batch = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Rehearsal:
    """What came of it.

    steps : steps compared
    bad_step, verdict : the first step whose result differs and how; None and the worst otherwise
    state_equal : whether what both left in the model's state (KV cache) agrees
    """

    steps: int
    bad_step: int | None
    verdict: Verdict
    state_equal: bool

    @property
    def equal(self) -> bool:
        return self.bad_step is None and self.state_equal

    def __str__(self) -> str:
        if self.bad_step is not None:
            return (
                f"step {self.bad_step} of {self.steps}: row {self.verdict.worst_row} is "
                f"{self.verdict.distance:.2%} away from eager"
            )
        state = "" if self.state_equal else ", but the KV cache differs afterwards"
        return f"{self.steps} steps equal, farthest {self.verdict.distance:.2e}{state}"


def rehearse(
    serve: Callable[[Batch], torch.Tensor],
    eager: Callable[[Batch], torch.Tensor],
    state: Sequence[torch.Tensor],
    batches: Sequence[Batch],
) -> Rehearsal:
    """Compare `serve` with `eager` over all batches, both from the same state.

    serve : results are kept as they are until the end, so one that a later step overwrites shows
    eager : the step on exactly the live rows, without padding
    state : what steps write besides their result, (blocks, ...) each; block 0 may differ
    """
    before = [tensor.clone() for tensor in state]
    want = [eager(batch).clone() for batch in batches]
    state_want = [tensor.clone() for tensor in state]
    for tensor, saved in zip(state, before, strict=True):
        tensor.copy_(saved)
    got = [serve(batch) for batch in batches]
    verdicts = [compare(g, w) for g, w in zip(got, want, strict=True)]
    bad = next((step for step, verdict in enumerate(verdicts) if not verdict.equal), None)
    worst = max(verdicts, key=lambda v: v.distance)
    return Rehearsal(
        steps=len(batches),
        bad_step=bad,
        verdict=worst if bad is None else verdicts[bad],
        state_equal=all(_slots_equal(*pair) for pair in zip(state, state_want, strict=True)),
    )


def _slots_equal(got: torch.Tensor, want: torch.Tensor) -> bool:
    """Slot by slot, outside of block 0. (blocks, slots, heads, dim)."""
    return compare(got[1:].flatten(0, 1), want[1:].flatten(0, 1)).equal
