"""Histograms of a scrape or a query -> a Reading: bounds, exact means, and steps where exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.errors import FileContentError
from core.readers.common.bucketed import Ranges, from_cumulative, open_top_warning, sums_reading
from core.readers.common.drops import Drops
from core.readers.common.requests import Notes
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Grade, Origin, SizeUnit, StepHistogram

BOUNDS = "Bucketed counts: bounds and means are known, single lengths are not, so none is drawn."
OTHER_MODEL = "series of another model"
OTHER_FAMILY = "another histogram of the same kind"
NO_TOP = "histogram without +Inf: its top is unknown"
FACT_NAMES = {"prompt": "prompt", "output": "output", "step": "step_tokens"}


@dataclass
class Cumulative:
    """One histogram family, its series added up: {upper bound: count}."""

    bounds: dict[float, float] = field(default_factory=dict)
    total: float | None = None
    series: int = 0

    def add(self, bound: float, value: float) -> None:
        self.bounds[bound] = self.bounds.get(bound, 0.0) + value
        self.series += 1

    @property
    def ranges(self) -> Ranges:
        return from_cumulative(self.bounds, self.total)

    @property
    def count(self) -> float:
        return max(self.bounds.values(), default=0.0)


@dataclass
class Metrics:
    """{model: {role: {family: histogram}}}; series that differ by other labels are added."""

    found: dict[str, dict[str, dict[str, Cumulative]]] = field(default_factory=dict)

    def histogram(self, model: str, role: str, family: str) -> Cumulative:
        families = self.found.setdefault(model, {}).setdefault(role, {})
        return families.setdefault(family, Cumulative())

    def requests_of(self, model: str) -> float:
        roles = self.found.get(model, {})
        lengths = [roles[role] for role in ("prompt", "output") if role in roles]
        return max((c.count for f in lengths or roles.values() for c in f.values()), default=0.0)


def choose_model(metrics: Metrics, options: ReadOptions, notes: Notes, drops: Drops) -> str:
    """The user's model, else the busiest; models are never added."""
    models = sorted(metrics.found, key=lambda m: -metrics.requests_of(m))
    chosen = models[0]
    if options.model is not None:
        if options.model not in models:
            listed = ", ".join(repr(model) for model in models[:6])
            raise FileContentError(
                f"There is no series of the model {options.model!r}; models are {listed}."
            )
        chosen = options.model
    elif len(models) > 1:
        others = ", ".join(models[1:4])
        notes.warnings.append(
            f"Several models: {chosen or 'the unnamed one'} was read, as it has most requests; "
            f"also there: {others}."
        )
    if any(models):
        notes.facts["models"] = {m: metrics.requests_of(m) for m in models[:50]}
    for model in models:
        if model != chosen:
            series = sum(c.series for f in metrics.found[model].values() for c in f.values())
            drops.add(OTHER_MODEL, None, series)
    return chosen


def metric_reading(
    name: str, label: str, file: str, metrics: Metrics, options: ReadOptions, notes: Notes
) -> Reading:
    """Grade D; grade A where step sizes lie in buckets one wide, which makes them exact.

    Raises FileContentError when there is no histogram of lengths or steps.
    """
    drops = Drops()
    chosen = choose_model(metrics, options, notes, drops)
    rows = sum(
        c.series for roles in metrics.found.values() for f in roles.values() for c in f.values()
    )
    steps = None
    for role, families in metrics.found[chosen].items():
        family, histogram = max(families.items(), key=lambda item: item[1].count)
        for other, unused in families.items():
            if other != family:
                drops.add(OTHER_FAMILY, None, unused.series)
        if float("inf") not in histogram.bounds:
            notes.warnings.append(f"{family}: {NO_TOP}.")
        ranges = histogram.ranges
        notes.facts.update(ranges.facts(FACT_NAMES[role]))
        notes.facts[f"{FACT_NAMES[role]}_metric"] = family
        if role == "step":
            steps = exact_steps(ranges, family)
        else:
            notes.warnings += open_top_warning(ranges, role)
    reading = sums_reading(name, label, rows, drops, notes, [BOUNDS])
    if steps is None:
        return reading
    return Reading(**{**vars(reading), "grade": Grade.STEPS, "steps": steps})


def exact_steps(ranges: Ranges, family: str) -> StepHistogram | None:
    """Steps by size where every bucket that holds any is one wide; None otherwise."""
    sizes: dict[int, int] = {}
    for item in ranges.ranges:
        if not item.count:
            continue
        if item.up_to is None or item.up_to - item.above != 1 or item.count != int(item.count):
            return None
        sizes[int(item.up_to)] = int(item.count)
    sizes.pop(0, None)
    unit = SizeUnit.TOKENS if "token" in family else SizeUnit.REQUESTS
    if not sizes:
        return None
    return StepHistogram.from_mapping(sizes, unit=unit, origin=Origin.MEASURED, source=family)


def facts_of_gauges(values: dict[str, float]) -> dict[str, Any]:
    """Gauges and counters worth keeping."""
    facts: dict[str, Any] = {}
    graph = {k: v for k, v in values.items() if k.startswith("cuda_graph_passes")}
    for key, value in values.items():
        if key not in graph:
            facts[key] = int(value) if value == int(value) else value
    decode = {k: v for k, v in graph.items() if "decode" in k}
    if sum(decode.values()) > 0:
        ran = sum(v for k, v in decode.items() if "none" not in k)
        facts["decode_graph_share_pct"] = round(100 * ran / sum(decode.values()), 3)
    return facts
