"""Settings in words, for people who compare sessions or read what changed."""

from __future__ import annotations

from typing import Any

from core.records.session_changes import ABSENT, FieldChange, shown_value

WORDS = {
    "sets": "bucket sets to compare",
    "best_k": "graphs of the best set",
    "best_objective": "the best set minimises",
    "best_include": "sizes in the best set in any case",
    "best_multiple": "sizes of the best set are multiples of",
    "best_memory_mib": "graph memory of the best set at most [MiB]",
    "best_guard": "best set always includes max_num_seqs",
    "best_eager": "large steps may run eager",
    "own_sizes": "own list of sizes",
    "bucketed": "what is bucketed",
    "rate_rps": "request rate [requests/s]",
    "kv_tokens": "KV cache [tokens]",
    "load_factor": "load factor",
    "cost_name": "step cost",
    "cost_card": "card of the step cost",
    "cost_context": "context of the step cost [tokens]",
    "card_gib": "card memory [GiB]",
    "utilization": "share of the card the engine may use",
    "reserve_gib": "activations and the rest [GiB]",
    "tp": "tensor parallel",
    "tokens_per_request": "tokens a request holds",
    "policy": "graph memory pool",
    "model_config": "model (config.json)",
    "uptime_h": "an engine runs for [h]",
    "restore_ms": "restoring a graph takes [ms]",
    "even_set": "set of the Break-even page",
    "prefill_mode": "prefill",
    "prefix_use": "prefix cache",
    "prefix_hit_rate": "prefix cache hit rate",
    "draft_tokens": "draft tokens",
    "acceptance": "accepted share of draft tokens",
    "arrive": "how requests arrive",
    "concurrency": "requests in flight",
    "context_tokens": "context [tokens a request]",
}
PARTS = {"name": "name", "notes": "notes", "workload": "traffic"}
KINDS = {"settings": "", "sets": "bucket set", "profiles": "profile", "jobs": "job"}


def words_for(field: str) -> str:
    """A document's field, e.g. "settings.best_k", as somebody would say it."""
    if field in PARTS:
        return PARTS[field]
    kind, _, key = field.partition(".")
    if kind == "settings":
        return WORDS.get(key, key.replace("_", " "))
    return f"{KINDS.get(kind, kind)} {key}"


def readable(line: str) -> str:
    """A line of the history or a conflict, e.g. "settings.best_k: 3 (new)", its field in words."""
    field, colon, rest = line.partition(": ")
    return f"{words_for(field)}{colon}{rest}" if colon else line


def value_words(change: FieldChange, value: Any) -> str:
    """A value on one line; where a document has none, the page's own default holds."""
    if value is ABSENT:
        return "default" if change.field.startswith("settings.") else "–"
    text = shown_value(change.field, value)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
