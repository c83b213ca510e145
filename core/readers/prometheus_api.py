"""Answers of Prometheus' HTTP API: instant and range queries, native histograms, gauges.

Values are texts, series come in any order. A raw counter is differenced over the range with its
resets added back; a range of increase() or rate() is differenced already and is summed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from core.errors import FileContentError
from core.readers.common.exposition import parse_bound, parse_value
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.metric_names import family_of, is_running, role_of
from core.readers.common.metric_reading import Metrics, metric_reading
from core.readers.common.requests import Notes
from core.readers.common.series import Series, total_of
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import Grade, Origin, SizeUnit, StepHistogram

UNNAMED = "The query dropped the metric's name; read as {what} lengths: say so if they are others."
SAMPLED = (
    "Running requests sampled at each scrape: a coarse picture of step sizes, no count of steps."
)
FRACTIONS = "Values are fractions (increase() or rate()): a window, and a shape rather than counts."


def detect(head: Head, options: ReadOptions) -> bool:
    return (
        head.json is not None
        and not head.json.lines
        and head.has_keys("status")
        and (head.has_keys("data") or head.has_keys("errorType"))
    )


def read_prometheus_api(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Raises FileContentError on an error answer, or one without lengths or running requests."""
    answer = head.json.sample[0] if head.json else {}
    if answer.get("status") != "success":
        kind = str(answer.get("errorType", "unknown"))[:40]
        raise FileContentError(f"{source.name}: Prometheus answered with an error ({kind}).")
    data = answer.get("data")
    result = data.get("result") if isinstance(data, Mapping) else None
    series = list(_series(result if isinstance(result, list) else []))
    running = [s for s in series if is_running(s.name) and s.bound is None]
    buckets = [s for s in series if s.bound is not None or s.native]
    if running and not buckets:
        return _sampled(source.name, running)
    return _bucketed(source.name, buckets, options)


def _series(result: list[Any]) -> Iterator[Series]:
    for item in result:
        if not isinstance(item, Mapping):
            continue
        labels = item.get("metric")
        labels = labels if isinstance(labels, Mapping) else {}
        points = item.get("values") if "values" in item else [item.get("value")]
        points = points if isinstance(points, list) else []
        pairs = [p for p in points if isinstance(p, list) and len(p) > 1]
        values = [parse_value(str(p[1])[:40]) for p in pairs]
        yield Series(
            str(labels.get("__name__", ""))[:200],
            str(labels.get("model_name") or labels.get("model") or "")[:200],
            parse_bound(str(labels["le"])[:40]) if "le" in labels else None,
            np.array([v for v in values if v is not None and abs(v) < 1e18]),
            _native(item),
            times=[float(p[0]) for p in pairs if _is_number(p[0]) and abs(p[0]) < 1e15],
        )


def _native(item: Mapping[str, Any]) -> Any:
    """The last native histogram of a series, without its time."""
    last = item.get("histogram")
    if "histograms" in item:
        every = item["histograms"]
        last = every[-1] if isinstance(every, list) and every else None
    return last[1] if isinstance(last, list) and len(last) > 1 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _bucketed(name: str, series: list[Series], options: ReadOptions) -> Reading:
    metrics, notes = Metrics(), Notes()
    cumulative = all(s.is_counter for s in series if s.bound is not None)
    unnamed = options.histogram_of if options.histogram_of in ("prompt", "output") else "prompt"
    fractions = early = False
    for item in series:
        family = family_of(item.name)
        role = role_of(family) if family else unnamed
        if role is None:
            continue
        histogram = metrics.histogram(item.model, role, family or f"{unnamed} lengths")
        if item.native:
            add_native(item.native, histogram, notes)
            continue
        if len(item.values) == 0 or item.bound is None:
            continue
        value, from_start = total_of(item.values, cumulative)
        early |= from_start
        fractions |= value != int(value)
        histogram.add(item.bound, value)
    if not any(c.bounds for r in metrics.found.values() for f in r.values() for c in f.values()):
        raise FileContentError(
            f"{name}: no series of prompt, output or step tokens in the answer; query the "
            "_bucket series of the engine, e.g. vllm:request_prompt_tokens_bucket."
        )
    if any(not item.name for item in series):
        notes.warnings.append(UNNAMED.format(what=unnamed))
    if fractions:
        notes.warnings.append(FRACTIONS)
    if any(len(item.values) > 1 for item in series):
        _say_window(series, cumulative, early, notes)
    return metric_reading(FORMAT.name, FORMAT.label, name, metrics, options, notes)


def _say_window(series: list[Series], cumulative: bool, early: bool, notes: Notes) -> None:
    times = [t for s in series for t in s.times]
    notes.facts["window_s"] = max(times) - min(times) if times else 0.0
    notes.facts["resets"] = sum(s.resets for s in series) if cumulative else 0
    if not cumulative:
        notes.warnings.append(
            "The query differences already (increase or rate): values were added."
        )
    elif early:
        notes.warnings.append(
            "The range begins at the server's start: its first values, below 1 % of the whole, "
            "were counted too."
        )
    else:
        notes.warnings.append("Counts are the increase over the range, restarts added back.")


def add_native(value: Any, histogram: Any, notes: Notes) -> None:
    """A native histogram: [boundaries, lower, upper, count] a bucket, not cumulative."""
    buckets = value.get("buckets") if isinstance(value, Mapping) else None
    counts: dict[float, float] = {}
    for bucket in buckets if isinstance(buckets, list) else []:
        if isinstance(bucket, list) and len(bucket) == 4:
            upper, count = parse_value(str(bucket[2])[:40]), parse_value(str(bucket[3])[:40])
            if upper is not None and count is not None and 0 <= count < 1e15:
                counts[upper] = counts.get(upper, 0.0) + count
    running = 0.0
    for upper in sorted(counts):
        running += counts[upper]
        histogram.add(upper, running)
    total = parse_value(str(value.get("sum"))[:40]) if isinstance(value, Mapping) else None
    if total is not None and np.isfinite(total):
        histogram.total = (histogram.total or 0.0) + total
    notes.facts["native_histogram"] = True


def _sampled(name: str, series: list[Series]) -> Reading:
    values = np.concatenate([s.values for s in series])
    values = values[np.isfinite(values) & (values < 2**31)]
    busy = np.round(values[values >= 0.5]).astype(np.int64)
    if len(busy) == 0:
        raise FileContentError(f"{name}: no request was running at any sample.")
    idle = len(values) - len(busy)
    times = [t for s in series for t in s.times]
    steps = StepHistogram.from_batches(
        busy, unit=SizeUnit.REQUESTS, origin=Origin.ESTIMATED, source="sampled running requests",
        duration_s=(max(times) - min(times)) or None if times else None,
    )  # fmt: skip
    return Reading(
        FORMAT.name, FORMAT.label, Grade.STEPS, len(values), len(busy), steps=steps,
        dropped={"sample without a running request": idle} if idle else {}, warnings=(SAMPLED,),
    )  # fmt: skip


FORMAT = Format(
    "prometheus-api", "Prometheus query answer (JSON)", detect, read_prometheus_api, rank=15
)
