"""Prometheus' text exposition of an engine (a scrape of /metrics, OpenMetrics included).

Buckets are cumulative and count since the server's start; series of several engines are added,
models are kept apart. Source: metric names of vLLM 0.33, SGLang 0.5.23, TGI and TensorRT-LLM.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import Any

from core.errors import FileContentError
from core.readers.common.exposition import Sample, iter_samples, parse_bound, parse_sample
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.metric_names import family_of, is_running, role_of
from core.readers.common.metric_reading import Metrics, facts_of_gauges, metric_reading
from core.readers.common.requests import Notes
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

_TYPE = re.compile(r"^# (?:TYPE|HELP) [A-Za-z_:]", re.MULTILINE)
_COUNTERS = {
    "vllm:num_preemptions_total": "preemptions",
    "sglang:num_retracted_requests_total": "preemptions",
    "sglang:max_total_num_tokens": "kv_tokens",
    "sglang:startup_cuda_graph_time_seconds": "capture_s",
    "sglang:graph_memory_usage_gb": "graph_gib",
    "trtllm_kv_cache_max_blocks": "kv_blocks",
}
_WAITING = ("num_requests_waiting", "num_queue_reqs", "tgi_queue_size")
_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tgi": "TGI", "trtllm": "TensorRT-LLM",
            "lmdeploy": "LMDeploy", "dynamo": "Dynamo"}  # fmt: skip


def detect(head: Head, options: ReadOptions) -> bool:
    if not head.is_text or head.json is not None:
        return False
    samples = [parse_sample(line) for line in head.lines[:400]]
    good = sum(s is not None and (bool(s.labels) or ":" in s.name) for s in samples)
    filled = sum(bool(line.strip()) and not line.startswith("#") for line in head.lines[:400])
    return good * 2 > filled and (bool(_TYPE.search(head.text)) or good >= 3)


def read_prometheus_text(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Raises FileContentError when no metric says how long prompts, outputs or steps are."""
    metrics, notes = Metrics(), Notes()
    gauges: defaultdict[str, float] = defaultdict(float)
    engine = ""
    for sample in iter_samples(source):
        if not engine:
            engine = next((e for k, e in _ENGINES.items() if sample.name.startswith(k)), "")
        _take(sample, metrics, gauges, notes.facts)
    if not metrics.found:
        raise FileContentError(
            f"{source.name}: a metrics scrape without a histogram of prompt, output or step "
            "tokens; scrape the engine itself, with its metrics enabled."
        )
    if engine:
        notes.facts["engine"] = engine
    notes.facts.update(facts_of_gauges(gauges))
    notes.warnings.append("Counts are since the server's start, not of a window; finished only.")
    return metric_reading(FORMAT.name, FORMAT.label, source.name, metrics, options, notes)


def _take(
    sample: Sample, metrics: Metrics, gauges: dict[str, float], facts: dict[str, Any]
) -> None:
    name, family = sample.name, family_of(sample.name)
    if not math.isfinite(sample.value) or abs(sample.value) > 1e18:
        return
    if name.endswith("_bucket"):
        role, bound = role_of(family), parse_bound(sample.labels.get("le"))
        if role and bound is not None:
            metrics.histogram(_model(sample), role, family).add(bound, sample.value)
    elif name.endswith("_sum") and role_of(family):
        histogram = metrics.histogram(_model(sample), role_of(family) or "", family)
        histogram.total = (histogram.total or 0.0) + sample.value
    elif name in _COUNTERS:
        gauges[_COUNTERS[name]] += sample.value
    elif name == "sglang:cuda_graph_passes_total":
        gauges[f"cuda_graph_passes_{sample.labels.get('mode', '')}"] += sample.value
    elif is_running(name):
        gauges["running_now"] += sample.value
    elif name.endswith(_WAITING):
        gauges["waiting_now"] += sample.value
    elif name == "vllm:cache_config_info":
        _cache_config(sample, facts)


def _cache_config(sample: Sample, facts: dict[str, Any]) -> None:
    for label, ours in (("num_gpu_blocks", "kv_blocks"), ("block_size", "block_size_tokens")):
        text = sample.labels.get(label, "")
        if text.isdigit() and len(text) < 13:
            facts[ours] = int(text)
    if {"kv_blocks", "block_size_tokens"} <= set(facts):
        facts["kv_tokens"] = facts["kv_blocks"] * facts["block_size_tokens"]


def _model(sample: Sample) -> str:
    return sample.labels.get("model_name") or sample.labels.get("model") or ""


FORMAT = Format(
    "prometheus-text", "metrics scrape (Prometheus text)", detect, read_prometheus_text, rank=40
)
