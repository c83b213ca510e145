"""What a measured profile says of step times and graph memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.cost.fit import CurveFit, fit_curve
from core.cost.of_engine import memory_from_engine
from core.cost.points import line_at
from core.errors import SettingError
from core.records import FloatArray, GraphMemory, IntArray, MeasureRow, Origin, Profile, StepCost


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
    notes = _notes(profile, rows, (replay, eager), bool(len(captured)), bool(len(copies)))
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
    profile: Profile,
    rows: Sequence[MeasureRow],
    fits: tuple[CurveFit, CurveFit],
    captured: bool,
    copied: bool,
) -> list[str]:
    replay, eager = fits
    notes = [f"curves over {len(rows)} sizes: graph replay {replay.summary}; eager {eager.summary}"]
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
    Raises SettingError if no row holds them, or an engine did not tell them.
    """
    if profile.engine is not None:
        return memory_from_engine(profile)
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
