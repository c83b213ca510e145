"""What engines capture by default, weighed on one histogram: "your engine today"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.cost.mean_step import mean_step_us
from core.engines import ENGINES
from core.engines.padding import EnginePadding, engine_padding
from core.errors import ProjectError
from core.records import SizeUnit, StepCost, StepHistogram


@dataclass(frozen=True)
class Baseline:
    """One engine's default list on a histogram.

    padding : what the engine's own rule does with the steps
    cost : padded slots, or us over all steps (steps without a graph run eager); None and
        `skipped` says why where the engine has no list for this unit
    """

    engine: str
    label: str
    sizes: tuple[int, ...]
    waste: float
    coverage: float
    cost: float | None
    notes: tuple[str, ...] = ()
    skipped: str | None = None
    padding: EnginePadding | None = None


def engine_baselines(
    histogram: StepHistogram,
    cost: StepCost | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Baseline, ...]:
    """Every known engine's default list; settings : {engine id: its settings}."""
    return tuple(
        _baseline(name, histogram, cost, (settings or {}).get(name, {})) for name in ENGINES
    )


def _baseline(
    name: str, histogram: StepHistogram, cost: StepCost | None, settings: Mapping[str, Any]
) -> Baseline:
    engine = ENGINES[name]
    try:
        found = engine.default_sizes(None, settings)
    except ProjectError as error:
        return _skipped(name, str(error))
    # One token a request in a decode step without speculation, so the two units agree.
    if (found.unit is SizeUnit.LENGTH) != (histogram.unit is SizeUnit.LENGTH):
        return _skipped(name, f"its list counts {found.unit.value}")
    if not found.sizes:
        return _skipped(name, "captures nothing with these settings")
    try:
        padding = engine_padding(engine, histogram, None, None, settings)
    except ProjectError as error:
        return _skipped(name, str(error))
    report = padding.report
    value: float = report.padded_total
    if cost is not None:
        value = mean_step_us(padding.steps, report, cost) * padding.steps.total_steps
    return Baseline(
        *(name, engine.label, found.sizes, report.waste, report.coverage, value, found.notes),
        padding=padding,
    )


def _skipped(name: str, reason: str) -> Baseline:
    return Baseline(name, ENGINES[name].label, (), 0.0, 0.0, None, (), reason)
