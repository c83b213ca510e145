"""A histogram through an engine's own dispatch rule instead of plain rounding up."""

from __future__ import annotations

import numpy as np

from core.engines.dispatch import dispatch, in_plan_unit
from core.engines.plan import Plan
from core.padding import EAGER, PaddingReport, dispatched_report
from core.records import StepHistogram


def engine_padding(plan: Plan, histogram: StepHistogram) -> PaddingReport:
    """Padding, hits and coverage as the engine of this plan would run the steps.

    Exact-only lists (padding off), ratio limits, speculation's rounding and the order of full and
    piecewise graphs all count. Sizes of the report are in the plan's unit.
    Raises CaptureSizesError (nothing is captured), CostUnitError (no graphs for such steps).
    """
    steps, kind = in_plan_unit(plan, histogram)
    answer = dispatch(plan, steps.sizes, kind)
    bucket = np.where(answer.on_graph, answer.padded, EAGER)
    captured = {size for graphs in plan.lists(kind) for size in graphs.sizes}
    return dispatched_report(steps, sorted(captured), bucket)
