"""Padding by an engine's own rule: its list, its modes, its exceptions, over a histogram."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.engines.dispatch import EAGER, dispatch, in_plan_unit
from core.engines.plan import Mode, Plan, StepKind
from core.engines.protocol import Engine
from core.errors import HistogramError
from core.padding import LookUp, PaddingReport, dispatched_report
from core.records import IntArray, StepHistogram


@dataclass(frozen=True)
class EnginePadding:
    """A padding report and how the steps ran.

    steps : the histogram in the engine's unit
    steps_by_mode : {mode: steps}; modes that no step took are left out
    report : slots in the engine's unit; steps that compile or fail count as without a graph
    look_up : the rule itself, for a part of the captured sizes
    """

    steps: StepHistogram
    report: PaddingReport
    look_up: LookUp
    plan: Plan
    kind: StepKind
    steps_by_mode: Mapping[Mode, int]


def engine_padding(
    engine: Engine,
    histogram: StepHistogram,
    capture_sizes: Sequence[int] | IntArray | None = None,
    version: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> EnginePadding:
    """What a list (None: the one that the settings lead to) does to the steps in this engine.

    Raises as `Engine.plan`; CostUnitError where the engine has no graphs for such steps,
    HistogramError where it captures nothing, so that there is nothing to pad to.
    """
    plan = engine.plan(version, settings, capture_sizes)
    steps, kind = in_plan_unit(plan, histogram)
    captured = sorted({n for graphs in plan.lists(kind) for n in graphs.sizes})
    if not captured:
        raise HistogramError(
            f"{engine.label} captures no graph for {kind} steps with these settings, so nothing is "
            "padded: every step runs eager."
        )
    answer = engine.dispatch_sizes(steps.sizes, capture_sizes, version, settings, kind)
    bucket = np.where(answer.on_graph, answer.padded, EAGER)
    by_mode = {
        mode: int(steps.steps[answer.modes == mode.value].sum())
        for mode in Mode
        if (answer.modes == mode.value).any()
    }
    report = dispatched_report(steps, captured, bucket)
    look_up = partial(_look_up, plan, kind, engine.run_time_size)
    return EnginePadding(steps, report, look_up, plan, kind, by_mode)


def _look_up(
    plan: Plan,
    kind: StepKind,
    fallback: Callable[[int], int],
    sizes: IntArray,
    captured: Sequence[int],
) -> IntArray:
    """What each size replays if only these sizes of the plan were captured: (n,), -1 for none."""
    kept = set(captured)
    lists = tuple(
        replace(graphs, sizes=tuple(n for n in graphs.sizes if n in kept))
        for graphs in plan.lists(kind)
    )
    left = replace(plan, **{kind.value: lists})
    answer = dispatch(left, sizes, kind, fallback)
    return np.where(answer.on_graph, answer.padded, EAGER)
