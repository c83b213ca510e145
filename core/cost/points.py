"""Time of one step at any size: straight lines between the points of a StepCost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.errors import CostUnitError, SettingError
from core.records import FloatArray, IntArray, SizeUnit, StepCost


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
    """Prompts by length are no rows of a decode step; a prompt is a step of so many tokens.

    An engine may look prompts up as tokens, so a cost of prompt lengths prices tokens too.
    Raises CostUnitError.
    """
    prices_prompts = cost.unit is SizeUnit.LENGTH
    wrong = SizeUnit.REQUESTS if prices_prompts else SizeUnit.LENGTH
    if unit is wrong:
        raise CostUnitError(
            f"The step cost is for {cost.unit.value}, the histogram counts {unit.value}; choose "
            "without a cost (by padded slots), or measure what the histogram counts."
        )
