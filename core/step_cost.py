"""Time of one step at any size, replayed and eager, from measured, fitted or assumed points."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from core.cost_fit import CurveFit, fit_curve
from core.errors import CostUnitError, SettingError
from core.records import (
    FloatArray,
    GraphMemory,
    IntArray,
    MeasureRow,
    Origin,
    Profile,
    SizeUnit,
    StepCost,
)

# The engine run these are read off: vLLM 0.23 on one H200, an 8B Llama shape in bf16, prompt 256.
LAUNCH_US = 12_900.0
"""Host time to submit the kernels of an eager step: the floor under every eager step."""
LAUNCH_US_PER_ROW = 9.5
"""What the host adds for each request of the batch."""
STEP_US = 5_800.0
"""Device time of a step of no request: the weights are read once."""
STEP_US_PER_ROW = 44.0
"""Device time that each row adds."""
CAPTURE_MS = 80.0
"""One graph: 51 were captured in 4 s."""


# Evaluation ------------------------------------------------------------------------------------


def line_at(xs: IntArray, ys: FloatArray, sizes: Sequence[int] | IntArray) -> FloatArray:
    """Straight lines between points; flat below the first, the last slope (never falling) above.

    xs : (m,) ascending; ys : (m,); sizes : (n,). Returns (n,).
    Raises SettingError if there is no point.
    """
    if len(xs) == 0:
        raise SettingError("The curve holds no point; measure or assume at least one size.")
    at = np.asarray(sizes, np.float64)
    result = np.interp(at, xs, ys)
    if len(xs) > 1:
        slope = max(0.0, float(ys[-1] - ys[-2]) / float(xs[-1] - xs[-2]))
        result = result + slope * np.maximum(0.0, at - float(xs[-1]))
    return result


def replay_us_at(cost: StepCost, sizes: Sequence[int] | IntArray) -> FloatArray:
    """Wall time of one replay at each captured size, without copying inputs in: (n,) [us]."""
    return line_at(cost.sizes, cost.replay_us, sizes)


def graph_step_us_at(cost: StepCost, sizes: Sequence[int] | IntArray) -> FloatArray:
    """Replay plus copying inputs in, at each captured size: (n,) [us]."""
    return replay_us_at(cost, sizes) + cost.copy_us


def eager_us_at(cost: StepCost, sizes: Sequence[int] | IntArray) -> FloatArray:
    """Wall time of one eager step at each unpadded size: (n,) [us]."""
    return line_at(cost.sizes, cost.eager_us, sizes)


def capture_ms_at(cost: StepCost, sizes: Sequence[int] | IntArray) -> FloatArray:
    """Time to capture one graph of each size: (n,) [ms]."""
    return line_at(cost.sizes, cost.capture_ms, sizes)


def check_units(cost: StepCost, unit: SizeUnit) -> None:
    """A row of a decode step is a request or one of its tokens; prompt lengths are neither.

    Raises CostUnitError.
    """
    if (cost.unit is SizeUnit.LENGTH) != (unit is SizeUnit.LENGTH):
        raise CostUnitError(
            f"The step cost is for {cost.unit.value}, the histogram counts {unit.value}; choose "
            "without a cost (by padded slots), or measure what the histogram counts."
        )


# Assumptions -----------------------------------------------------------------------------------


def assumed_step_cost(
    max_size: int = 512,
    *,
    launch_us: float = LAUNCH_US,
    launch_us_per_row: float = LAUNCH_US_PER_ROW,
    step_us: float = STEP_US,
    step_us_per_row: float = STEP_US_PER_ROW,
    capture_ms: float = CAPTURE_MS,
    copy_us: float = 0.0,
    unit: SizeUnit = SizeUnit.REQUESTS,
) -> StepCost:
    """A memory-bound decode step, for when nothing was measured; every term can be set.

    replay = step + rows x step_per_row; eager = the slower of the host's submitting
    (launch + rows x launch_per_row) and the same device time. The defaults follow the decode
    steps of an 8B Llama shape in bf16 on one H200 under vLLM 0.23: 5.9 ms replayed and 12.9 ms
    eager at batch 1, 12.8 ms and 14.4 ms at 160 rows. Those are wall times, so copying is in.
    Raises SettingError.
    """
    terms = (launch_us, launch_us_per_row, step_us, step_us_per_row, capture_ms, copy_us)
    if not all(math.isfinite(term) and term >= 0 for term in terms):
        raise SettingError(f"A step cost holds {terms}; every term must be 0 or more.")
    if max_size < 1:
        raise SettingError(f"The largest size is {max_size}; it must be 1 or more.")
    # Two straight lines and where they cross: linear in between is exact.
    corners = {1, max_size}
    if step_us_per_row > launch_us_per_row:
        cross = (launch_us - step_us) / (step_us_per_row - launch_us_per_row)
        corners |= {c for c in (math.floor(cross), math.ceil(cross)) if 1 <= c <= max_size}
    sizes = np.array(sorted(corners), np.int64)
    rows = sizes.astype(np.float64)
    device = step_us + step_us_per_row * rows
    host = launch_us + launch_us_per_row * rows
    return StepCost(
        sizes,
        device,
        np.maximum(device, host),
        np.full(len(sizes), capture_ms),
        Origin.ASSUMED,
        f"assumed: replay {step_us:g} us + {step_us_per_row:g} us a row, eager at least "
        f"{launch_us:g} us + {launch_us_per_row:g} us a row to submit, {capture_ms:g} ms a capture "
        "(defaults follow an 8B model in bf16 on one H200 under vLLM 0.23)",
        copy_us,
        unit,
    )


def assumed_graph_memory(
    max_size: int = 512,
    *,
    fixed_mib: float = 224.0,
    pool_mib_per_row: float = 0.34,
    graph_mib: float = 4.0,
) -> GraphMemory:
    """Graph memory for when nothing was measured; every term can be set.

    The defaults give the 0.59 GiB that 51 graphs up to 512 and the 0.34 GiB that 9 graphs up to
    256 took in a shared pool under vLLM 0.23 on an H200 (8B Llama shape): two measurements for
    three terms, so the split between them is a guess.
    Raises SettingError.
    """
    terms = (fixed_mib, pool_mib_per_row, graph_mib)
    if not all(math.isfinite(term) and term >= 0 for term in terms) or max_size < 1:
        raise SettingError(f"Graph memory holds {terms} up to {max_size}; use 0 or more.")
    sizes = np.array(sorted({1, max_size}), np.int64)
    return GraphMemory(
        sizes,
        pool_mib_per_row * 2**20 * sizes.astype(np.float64),
        np.full(len(sizes), graph_mib * 2**20),
        Origin.ASSUMED,
        f"assumed: {fixed_mib:g} MiB once, {graph_mib:g} MiB a graph, a pool of "
        f"{pool_mib_per_row:g} MiB a row (totals follow two runs of vLLM 0.23 on an H200)",
        fixed_mib * 2**20,
    )


# Profiles --------------------------------------------------------------------------------------


def _replayed(profile: Profile) -> list[MeasureRow]:
    rows = [row for row in profile.rows if row.error is None and row.replay_us is not None]
    if not rows:
        where = f"The profile of {profile.device.name}"
        if not profile.device.graphs:
            raise SettingError(
                f"{where} holds eager times only (graphs: unavailable), so graph steps cannot be "
                "priced from it; use a profile of a CUDA card, or the assumed cost."
            )
        raise SettingError(
            f"{where} holds no replayed row ({len(profile.rows)} rows, all failed or "
            "unfinished); measure again, or use the assumed cost."
        )
    return sorted(rows, key=lambda row: row.size)


def _points(rows: Sequence[MeasureRow], name: str) -> tuple[IntArray, FloatArray]:
    """Sizes and values where `name` was measured."""
    pairs = [(row.size, getattr(row, name)) for row in rows if getattr(row, name) is not None]
    return (
        np.array([size for size, _ in pairs], np.int64),
        np.array([value for _, value in pairs], np.float64),
    )


def fit_profile(profile: Profile) -> tuple[CurveFit, CurveFit]:
    """Smooth curves through the replay and the eager times of a profile, with residuals.

    Raises SettingError if no row was replayed or none ran eager.
    """
    rows = _replayed(profile)
    curves = []
    for name in ("replay_us", "eager_us"):
        sizes, values = _points(rows, name)
        if len(sizes) == 0:
            raise SettingError(
                f"The profile of {profile.device.name} holds no {name}; measure it again with "
                "eager steps, or use the assumed cost."
            )
        curves.append(fit_curve(sizes, values))
    return curves[0], curves[1]


def cost_from_profile(profile: Profile) -> StepCost:
    """Replay and eager curves fitted to a profile's rows; failed rows are left out and named.

    Fitted before anything is optimised over them: a raw noisy table promises what it cannot keep.
    Capture times are the measured ones, instantiation included, straight in between.
    Raises SettingError if no row was replayed (a profile of a CPU has none).
    """
    rows = _replayed(profile)
    replay, eager = fit_profile(profile)
    largest = rows[-1].size
    sizes = np.arange(1, largest + 1) if largest <= 4096 else _grid(rows)
    sizes = sizes.astype(np.int64)
    captured, capture_ms = _points(rows, "capture_ms")
    # capture_ms counts recording and instantiating, so instantiate_ms is not added again.
    total_ms = line_at(captured, capture_ms, sizes) if len(captured) else np.zeros(len(sizes))
    copies = _points(rows, "copy_us")[1]
    notes = _notes(profile, rows, replay, bool(len(captured)), bool(len(copies)))
    return StepCost(
        sizes,
        replay.at(sizes),
        eager.at(sizes),
        total_ms,
        Origin.FITTED,
        "; ".join([profile.source, *notes]),
        float(np.median(copies)) if len(copies) else 0.0,
    )


def _grid(rows: Sequence[MeasureRow]) -> IntArray:
    """Points for very large sizes: what was measured, and one below each (a stair's foot)."""
    measured = {row.size for row in rows}
    return np.array(sorted(measured | {max(1, size - 1) for size in measured} | {1}), np.int64)


def _notes(
    profile: Profile, rows: Sequence[MeasureRow], fit: CurveFit, captured: bool, copied: bool
) -> list[str]:
    notes = [fit.summary]
    left_out = [row for row in profile.rows if row not in rows]
    if left_out:
        sizes = ", ".join(str(row.size) for row in left_out)
        notes.append(f"without {len(left_out)} rows that failed or were not replayed ({sizes})")
    if not captured:
        notes.append("capture time not measured, taken as 0")
    if not copied:
        notes.append("copying in not measured apart")
    return notes


def memory_from_profile(profile: Profile) -> GraphMemory:
    """Pool and graph memory as measured, straight between sizes.

    A pool that shrinks with size is noise of the allocator, so the running maximum is used.
    Raises SettingError if no row holds them.
    """
    rows = sorted((row for row in profile.rows if row.error is None), key=lambda row: row.size)
    sizes, pools = _points(rows, "pool_bytes")
    if len(sizes) == 0:
        raise SettingError(
            f"The profile of {profile.device.name} holds no graph memory; use a profile of a CUDA "
            "card, or the assumed memory."
        )
    owned, graphs = _points(rows, "graph_bytes")
    own = line_at(owned, graphs, sizes) if len(owned) else np.zeros(len(sizes))
    return GraphMemory(
        sizes,
        np.maximum.accumulate(np.maximum(pools, 0.0)),
        np.maximum(own, 0.0),
        Origin.MEASURED,
        profile.source,
    )
