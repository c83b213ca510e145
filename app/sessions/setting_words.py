"""Settings in words, for people who compare sessions or read what changed."""

from __future__ import annotations

from collections.abc import Mapping

from app.inputs.cost import TERMS
from app.inputs.memory import CARD_INPUTS
from app.serving.inputs import ARRIVAL_INPUTS, LIMIT_INPUTS
from core.engines import ENGINES


def _small(label: str) -> str:
    """A widget's label inside a sentence; KV stays KV."""
    return label[0].lower() + label[1:] if label[1:2].islower() else label


WORDS: Mapping[str, str] = {
    **{item[0]: _small(item[1]) for item in (*CARD_INPUTS, *LIMIT_INPUTS, *ARRIVAL_INPUTS)},
    **{f"cost_{term}": f"assumed step cost, {label}" for term, (label, _, _) in TERMS.items()},
    **{f"export_version_{name}": f"release to paste for, {e.label}" for name, e in ENGINES.items()},
    **{f"version_{name}": f"release on the Engine page, {e.label}" for name, e in ENGINES.items()},
    "acceptance": "accepted share of draft tokens",
    "account_engine": "engine whose memory estimate is shown",
    "arrival_seed": "seed of random arrivals",
    "arrive": "how requests come",
    "best_eager": "large steps may run eager",
    "best_guard": "best set always includes max_num_seqs",
    "best_include": "sizes in the best set in any case",
    "best_k": "graphs in the best set, K",
    "best_memory_mib": "graph memory of the best set at most, 0 is no limit [MiB]",
    "best_multiple": "sizes of the best set are multiples of",
    "best_objective": "the best set minimises",
    "block_size_tokens": "KV block [tokens]",
    "bucket_view": "chart on the Buckets page",
    "bucketed": "what is bucketed",
    "calibration_kind": "steps shown on the Calibrate page",
    "calibration_sizes": "capture sizes of the recorded engine",
    "capture_mode": "how a measured step is captured",
    "concurrency": "requests in flight",
    "context_of": "profile that the context belongs to",
    "cost_card": "card of the step cost",
    "cost_context": "context of the step cost [tokens]",
    "cost_name": "step cost",
    "draft_tokens": "draft tokens",
    "engine": "engine on the Engine page",
    "even_set": "set of the Break-even page",
    "example": "traffic is the built-in example",
    "export_engine": "engine to paste for",
    "export_set": "set to paste",
    "frontier_view": "what more graphs are judged by",
    "learn_job": "measurement of the Learn page",
    "lesson": "lesson of the Learn page",
    "measure_chunks": "chunks to measure [tokens]",
    "measure_contexts": "contexts to measure at [tokens]",
    "measure_jobs": "measurements that were sent",
    "measure_policy": "graph memory pool of a measurement",
    "measure_sizes": "sizes to measure",
    "model": "model shape of a measurement",
    "model_config": "model (config.json)",
    "not_faster_said": "captured sizes on the Not faster? page",
    "not_faster_set": "bucket set on the Not faster? page",
    "not_faster_steps": "steps on the Not faster? page",
    "other_equal": "every load counts the same",
    "other_loads": "other loads that the best set is chosen for",
    "own_sizes": "'My list'",
    "policy": "graph memory pool",
    "prefill_mode": "prefill",
    "prefix_hit_rate": "share of every prompt that is cached",
    "prefix_use": "prefix cache",
    "price_ms": "a graph must save at least [ms]",
    "price_slots": "a graph must save at least [padded slots]",
    "profile_context": "context of a step [tokens a request]",
    "profile_shown": "profile shown on the Measure page",
    "profile_view": "how profiles are shown",
    "restore_ms": "restoring a graph takes [ms]",
    "restored": "graphs are restored from disk",
    "samples": "samples a size",
    "serving_view": "chart on the Serve page",
    "sets": "bucket sets to compare",
    "sizes_count": "a capture size counts",
    "sweep_figure": "figure of the sweep",
    "sweep_job": "sweep that was sent",
    "sweep_loads": "loads of the sweep",
    "target": "what is measured",
    "tokens_per_request": "tokens a request holds",
    "tpot_limit_ms": "goodput: TPOT at most [ms]",
    "trade_axis": "axis of the trade-off chart",
    "ttft_limit_ms": "goodput: TTFT at most [ms]",
    "uptime_h": "an engine runs for [h]",
    "whole_prompt": "a request is admitted only when its whole prompt fits",
}
"""What a setting is called; its unit, if it has one, last in square brackets."""
LEARN = "learn_"
PARTS = {"name": "name", "notes": "notes", "workload": "traffic"}
KINDS = {"sets": "bucket set", "profiles": "profile", "jobs": "job"}


def setting_words(key: str) -> str:
    """A setting's key as somebody would say it; one of another version is told as it is written."""
    if key.startswith(LEARN):
        return f"Learn page: {key.removeprefix(LEARN).replace('_', ' ')}"
    return WORDS.get(key, key.replace("_", " "))


def words_for(field: str) -> str:
    """A document's field, e.g. "settings.best_k", as somebody would say it."""
    if field in PARTS:
        return PARTS[field]
    kind, _, key = field.partition(".")
    return setting_words(key) if kind == "settings" else f"{KINDS.get(kind, kind)} {key}"
