"""vLLM's start-up lines, releases 0.8 to 0.33."""

from __future__ import annotations

import re
from typing import Any

from core.readers.common.log_facts import note_facts, rule, sizes_in

RULES = (
    rule("Graph capturing finished", r"finished in (?P<capture_s>\d+) secs?, took "
         r"(?P<graph_gib>-?[\d.]{1,12}) GiB"),
    rule("Available KV cache memory", r"memory: (?P<kv_gib>-?[\d.]{1,12}) GiB"),
    rule("KV cache size", r"KV cache size: (?P<kv_tokens>[\d,]{1,20}) tokens"),
    rule("Maximum concurrency", r"concurrency for (?P<max_model_len>[\d,]{1,20}) tokens per "
         r"request: (?P<max_concurrency>[\d.,]{1,20})x"),
    rule("Estimated CUDA graph memory", r"memory: (?P<estimated_graph_gib>[\d.]{1,12}) GiB total"),
    rule("CUDA graph pool memory", r"memory: (?P<pool_gib>[\d.]{1,12}) GiB \(actual\), "
         r"(?P<estimated_graph_gib>[\d.]{1,12}) GiB \(estimated\)"),
    rule("init engine (", r"took (?P<init_s>[\d.]{1,12}) s"),
    rule("compilation:", r"\(compilation: (?P<compilation_s>[\d.]{1,12}) s"),
    rule("LLM engine (v", r"LLM engine \(v(?P<engine_version>[\w.+\-]+)\)"),
    rule("max_seq_len=", r"\bmax_seq_len=(?P<max_model_len>\d+)"),
    rule("enforce_eager=", r"\benforce_eager=(?P<enforce_eager>True|False)"),
    rule("tensor_parallel_size=", r"\btensor_parallel_size=(?P<tensor_parallel_size>\d+)"),
    rule("Truncating max_cudagraph", r"capture_size to (?P<effective_max>\d+)"),
    rule("for CUDAGraph memory", r"(?P<peak_activation_gib>[\d.]{1,12}) GiB for peak activation"),
    rule("Model loading took", r"took (?P<weights_gib>[\d.]{1,12}) GiB"),
    rule("GPU blocks", r"# (?:GPU|cuda) blocks: (?P<kv_blocks>\d+)"),
    rule("Profiling CUDA graph memory", r"PIECEWISE=(?P<piecewise_graphs>\d+)"),
    rule("Profiling CUDA graph memory", r"FULL=(?P<full_graphs>\d+)"),
    rule("max_num_seqs", r"\bmax_num_seqs['\"]?[=:]\s*(?P<max_num_seqs>\d+)"),
    rule("max_num_batched_tokens", r"max_num_batched_tokens['\"]?[=:]\s*"
         r"(?P<max_num_batched_tokens>\d+)"),
    rule("num_spec", r"num_spec(?:ulative)?_tokens['\"]?[=:]\s*(?P<num_speculative_tokens>\d+)"),
)  # fmt: skip

_CAPTURE_LIST = re.compile(r"'cudagraph_capture_sizes': \[([\d,\s]*)\]")
_MODE = re.compile(r"'cudagraph_mode': <CUDAGraphMode\.(\w+)")
_DISABLED = "Cudagraph is disabled under eager mode"


class StartUp:
    """Feed it every message; `sizes` is the capture list of the configuration line."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.sizes: tuple[int, ...] = ()

    def feed(self, message: str) -> None:
        note_facts(RULES, message, self.facts)
        if "cudagraph_capture_sizes" in message and (match := _CAPTURE_LIST.search(message)):
            self.sizes = sizes_in(match[1])
            self.facts["configured_sizes"] = len(self.sizes)
        if "cudagraph_mode" in message and (match := _MODE.search(message)):
            self.facts["cudagraph_mode"] = match[1]
        if _DISABLED in message:
            self.facts["cudagraph_mode"] = "NONE"

    def finish(self) -> list[str]:
        """Derived facts; returns warnings."""
        facts, warnings = self.facts, []
        if {"graph_gib", "estimated_graph_gib"} <= set(facts):
            short = round(float(facts["graph_gib"]) - float(facts["estimated_graph_gib"]), 4)
            facts["graph_under_estimate_gib"] = short
        if facts.get("cudagraph_mode") == "NONE" or facts.get("enforce_eager") == "True":
            warnings.append("The engine ran eager: it captured no graphs.")
        top, requests = facts.get("effective_max"), facts.get("max_num_seqs")
        if isinstance(top, int):
            warnings.append(f"The engine cut the largest capture size to {top}.")
            drafts = facts.get("num_speculative_tokens", 0)
            if isinstance(requests, int) and isinstance(drafts, int):
                needed = requests * (1 + drafts)
                facts["needed_max"] = needed
                if needed > top:
                    warnings.append(
                        f"A full verification batch of {needed} tokens runs eager: no graph holds "
                        f"more than {top}."
                    )
        return warnings
