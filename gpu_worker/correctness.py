"""Does a replay give what the eager step gives?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

RELATIVE_TOLERANCE = {torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 2e-2}
"""Largest difference allowed, as a share of the largest eager value. Replay runs the kernels
that were recorded; a library may have picked others for the eager call, which then differ by
rounding, and rounding grows through the layers."""


@dataclass(frozen=True)
class Verdict:
    """equal: within `tolerance`; both in units of the output."""

    equal: bool
    max_abs_error: float
    tolerance: float


def compare(replayed: torch.Tensor, eager: torch.Tensor) -> Verdict:
    """Replayed against eager output of one shape; anything not finite is unequal."""
    if replayed.shape != eager.shape:
        raise ValueError(f"shapes differ: {tuple(replayed.shape)} and {tuple(eager.shape)}")
    difference = (replayed.float() - eager.float()).abs().max().item()
    tolerance = RELATIVE_TOLERANCE[eager.dtype] * eager.float().abs().max().item()
    # A comparison with NaN is false, so that NaN on either side never passes.
    return Verdict(bool(difference <= tolerance), float(difference), float(tolerance))
