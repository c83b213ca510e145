"""Does a replay give what the eager step gives?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 3e-2}
"""Largest distance allowed between two rows, as a share of the reference row's norm.

Not zero: matrix libraries may sum in another order from call to call (an H200 gave 0.6 % between
two eager runs of one 32-layer step in bfloat16). Far below what a hazard costs: a stale, foreign or
overwritten row of random logits is about 140 % away."""


@dataclass(frozen=True)
class Verdict:
    """How two results compare.

    equal : every row within the tolerance
    max_abs_error : largest difference of two elements, in units of the output
    worst_row, distance : the row farthest away, and how far, as a share of its norm
    """

    equal: bool
    max_abs_error: float
    worst_row: int
    distance: float


def compare(got: torch.Tensor, reference: torch.Tensor) -> Verdict:
    """Rows of `got` against those of `reference`; whatever is not finite is unequal.

    Shapes: (rows, ...), the same for both. Raises ValueError if they differ.
    """
    if got.shape != reference.shape:
        raise ValueError(f"shapes differ: {tuple(got.shape)} and {tuple(reference.shape)}")
    wide, exact = got.float().flatten(1), reference.float().flatten(1)
    difference = wide - exact
    norm = exact.norm(dim=1).clamp_min(torch.finfo(torch.float32).tiny)
    distance = (difference.norm(dim=1) / norm).nan_to_num(nan=float("inf"))
    worst = int(distance.argmax())
    return Verdict(
        equal=bool(distance[worst] <= TOLERANCE[reference.dtype]),
        max_abs_error=difference.abs().max().nan_to_num(nan=float("inf")).item(),
        worst_row=worst,
        distance=distance[worst].item(),
    )
