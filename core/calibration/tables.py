"""Step times from what engines print: decode tables by batch size, and iteration lines of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.cost.fit import fit_curve
from core.errors import SettingError
from core.padding import bucket_of
from core.records import FloatArray, Origin, StepCost


def cost_from_tables(
    graph_us: Mapping[int, float],
    capture_sizes: Sequence[int],
    eager_us: Mapping[int, float] | None = None,
    *,
    source: str = "decode table",
) -> StepCost:
    """Replay and eager curves from decode steps by batch size [us].

    graph_us : batch -> step of an engine with these capture sizes; a batch was padded to its
        bucket, so it is a point of the bucket (the median of those that share one); batches above
        the largest size ran eager and are left to eager_us
    eager_us : batch -> step without graphs; None takes the replay curve and says it is not known
    Raises SettingError if no batch was on a graph, CaptureSizesError.
    """
    points: dict[int, list[float]] = {}
    batches = np.array(sorted(graph_us), np.int64)
    for batch, bucket in zip(batches, bucket_of(batches, capture_sizes), strict=True):
        if bucket > 0:
            points.setdefault(int(bucket), []).append(graph_us[int(batch)])
    if not points:
        raise SettingError(f"{source}: none of its batches ran on a graph of these capture sizes.")
    top = max(2, *capture_sizes, *(eager_us or {}))
    sizes = np.arange(1, top + 1, dtype=np.int64)
    replay = _curve({size: float(np.median(us)) for size, us in points.items()}, sizes)
    eager = _curve(eager_us, sizes) if eager_us else replay
    return StepCost(
        *(sizes, replay, eager, np.zeros(top), Origin.FITTED, f"{source}, fitted"),
        eager_known=bool(eager_us),
    )


def _curve(table: Mapping[int, float], sizes: np.ndarray) -> FloatArray:
    points = sorted(table.items())
    return fit_curve(
        np.array([size for size, _ in points], np.int64),
        np.array([us for _, us in points], np.float64),
    ).at(sizes)
