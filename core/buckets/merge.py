"""Several histograms as one: ranks that share a list, a peak and a quiet hour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.errors import HistogramError, SettingError
from core.records import Origin, StepHistogram

EQUAL_SAY_STEPS = 10**9
"""Steps that each histogram is scaled to where all have an equal say."""


def merged(
    histograms: Sequence[StepHistogram],
    weights: Sequence[int] | None = None,
    *,
    equal_say: bool = False,
) -> StepHistogram:
    """The weighted sum: a list that is best for it has the least weighted cost over all.

    weights : whole, 1 or more, e.g. hours of a day like that; 1 each by default
    equal_say : scale each to the same number of steps first, so that a busy hour with short steps
        does not drown a quiet one
    Raises HistogramError (none, or units that differ), SettingError.
    """
    if not histograms:
        raise HistogramError("There is no histogram to merge; give at least one.")
    units = {histogram.unit for histogram in histograms}
    if len(units) > 1:
        names = " and ".join(sorted(unit.value for unit in units))
        raise HistogramError(f"Histograms of {names} cannot be merged.")
    weights = [1] * len(histograms) if weights is None else list(weights)
    if len(weights) != len(histograms) or any(w != int(w) or w < 1 for w in weights):
        raise SettingError(
            f"{len(histograms)} histograms have the weights {weights}; give each one a whole "
            "number of 1 or more."
        )
    counts: dict[int, int] = {}
    for histogram, weight in zip(histograms, weights, strict=True):
        for size, steps in _scaled(histogram, equal_say):
            counts[size] = counts.get(size, 0) + steps * int(weight)
    known = [histogram.duration_s for histogram in histograms]
    duration = None
    if not equal_say and all(seconds is not None for seconds in known):
        duration = float(np.dot([seconds or 0.0 for seconds in known], weights))
    measured = all(histogram.origin is Origin.MEASURED for histogram in histograms)
    return StepHistogram.from_mapping(
        counts,
        unit=histograms[0].unit,
        origin=Origin.MEASURED if measured else Origin.ESTIMATED,
        duration_s=duration,
        source=" + ".join(histogram.source for histogram in histograms if histogram.source),
        decode_only=all(histogram.decode_only for histogram in histograms),
    )


def _scaled(histogram: StepHistogram, equal_say: bool) -> list[tuple[int, int]]:
    pairs = list(zip(histogram.sizes.tolist(), histogram.steps.tolist(), strict=True))
    if not equal_say:
        return pairs
    total = histogram.total_steps
    return (
        [(size, round(steps * EQUAL_SAY_STEPS / total)) for size, steps in pairs] if total else []
    )
