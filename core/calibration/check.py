"""Predicted beside real, step by step: by size, and in one figure, on steps not fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.calibration.lockstep import StepSamples
from core.records import FloatArray, IntArray, StepCost
from core.simulation.machine import Machine
from core.simulation.step_times import PrefillCost, step_times

MAX_GROUPS = 64
"""Points that a chart tells apart."""


@dataclass(frozen=True)
class StepCheck:
    """How far predictions are off; errors are predicted / real - 1.

    median : of the steps' errors; spread : their root mean square; total : of all time together
    """

    steps: int
    median: float
    spread: float
    total: float


@dataclass(frozen=True)
class SizeGroups:
    """Steps put together by size: all (k,).

    first, last : sizes of a group, equal where it is one size; steps : how many
    low_us, real_us, high_us : quartiles and median of the real times; fitted_us : median predicted
    off_low, off, off_high : quartiles and median of predicted / real - 1
    """

    first: IntArray
    last: IntArray
    steps: IntArray
    low_us: FloatArray
    real_us: FloatArray
    high_us: FloatArray
    fitted_us: FloatArray
    off_low: FloatArray
    off: FloatArray
    off_high: FloatArray


def predicted_us(
    samples: StepSamples,
    cost: StepCost,
    prefill: PrefillCost,
    capture_sizes: Sequence[int] | None,
) -> FloatArray:
    """What the simulation takes each step to last: (m,) [us]. capture_sizes None: eager."""
    rows = max(1, int(samples.rows.max(initial=1)))
    machine = Machine(
        kv_tokens=1 << 30,
        max_num_seqs=rows,
        max_num_batched_tokens=max(rows, int(samples.tokens.max(initial=1))),
    )
    times = step_times(cost, machine, capture_sizes, prefill)
    decode = times.decode_us[samples.rows] + times.context_us * samples.context
    decode = np.maximum(decode, times.decode_floor_us[samples.rows])
    mixed = times.mixed_us[samples.tokens] + times.mixed_context_us * samples.context
    mixed = mixed + times.pair_us * samples.pairs + times.prompt_us * samples.prompts
    mixed = np.maximum(mixed, times.mixed_floor_us[samples.tokens])
    mixed = mixed + times.mixed_row_us * samples.rows
    return np.where(samples.tokens > 0, mixed, decode)


def checked(real_us: FloatArray, fitted_us: FloatArray) -> StepCheck:
    """In one figure. real_us, fitted_us : (m,), m >= 1 [us]."""
    off = fitted_us / real_us - 1
    return StepCheck(
        len(off),
        float(np.median(off)),
        float(np.sqrt(np.mean(off**2))),
        float(fitted_us.sum() / real_us.sum() - 1),
    )


def by_size(
    sizes: IntArray, real_us: FloatArray, fitted_us: FloatArray, max_groups: int = MAX_GROUPS
) -> SizeGroups:
    """Steps in at most max_groups groups of sizes of equal width. All arguments (m,), m >= 1."""
    low = int(sizes.min())
    width = 1
    if len(np.unique(sizes)) > max_groups:
        width = -(-(int(sizes.max()) - low + 1) // max_groups)
    place = (sizes - low) // width
    used, index = np.unique(place, return_inverse=True)
    first = low + used * width
    off = fitted_us / real_us - 1
    rows = [index == group for group in range(len(used))]
    low_us, real, high_us = (_quantiles(real_us, rows, q) for q in (25, 50, 75))
    off_low, off_middle, off_high = (_quantiles(off, rows, q) for q in (25, 50, 75))
    return SizeGroups(
        first,
        first + width - 1,
        np.array([int(row.sum()) for row in rows], np.int64),
        *(low_us, real, high_us, _quantiles(fitted_us, rows, 50)),
        *(off_low, off_middle, off_high),
    )


def _quantiles(values: FloatArray, rows: list[np.ndarray], q: float) -> FloatArray:
    return np.array([np.percentile(values[row], q) for row in rows])
