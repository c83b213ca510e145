"""vLLM's start-up messages, 0.8 to 0.33."""

from __future__ import annotations

from dataclasses import replace

from core.engines._vllm_options import mode_name
from core.engines._vllm_sizes import rounded
from core.engines.startup_log import LogReading, LogRule, count, sizes, yes

MARKER = r"LLM engine \(v[\w.]+\) with config|Graph capturing finished|Capturing CUDA graph"
_BAR = r":\s+100%\|[^|]*\|\s*(\d+)/"

RULES = (
    LogRule(r"LLM engine \(v([\w.]+)\) with config", "version"),
    LogRule(r"'cudagraph_capture_sizes': \[([\d, ]*)\]", "captured", sizes),
    LogRule(r"'cudagraph_mode': <CUDAGraphMode\.(\w+)", "settings.cudagraph_mode", mode_name),
    LogRule(
        r"'cudagraph_specialize_lora': (True|False)", "settings.cudagraph_specialize_lora", yes
    ),
    LogRule(r"\btensor_parallel_size=(\d+)", "settings.tensor_parallel_size", int),
    LogRule(r"\bdata_parallel_size=(\d+)", "settings.data_parallel_size", int),
    LogRule(r"\benforce_eager=(True|False)", "settings.enforce_eager", yes),
    LogRule(r"\bnum_spec(?:ulative)?_tokens=(\d+)", "settings.num_speculative_tokens", int),
    LogRule(r"\bmax_num_batched_tokens=(\d+)", "settings.max_num_batched_tokens", int),
    LogRule(r"non-default args: \{.*'max_num_seqs': (\d+)", "settings.max_num_seqs", int),
    LogRule(
        r"non-default args: \{.*'max_num_batched_tokens': (\d+)",
        "settings.max_num_batched_tokens",
        int,
    ),
    LogRule(r"non-default args: \{.*'enable_lora': (True)", "settings.enable_lora", yes),
    LogRule(r"non-default args: \{.*'max_loras': (\d+)", "settings.max_loras", int),
    LogRule(r"Using (V2) Model Runner", "settings.runner", str.lower),
    LogRule(r"Capturing CUDA graphs \((?:[\w\- ]+, )?PIECEWISE\)" + _BAR, "graphs.piecewise", int),
    LogRule(r"Capturing CUDA graphs \((?:[\w\- ]+, )?FULL\)" + _BAR, "graphs.full", int),
    LogRule(r"Capturing CUDA graph shapes" + _BAR, "graphs.piecewise", int),
    LogRule(r"Graph capturing finished in (\d+) secs", "facts.capture_s", int),
    LogRule(r"Graph capturing finished in \d+ secs, took ([\d.]+) GiB", "facts.graph_gib", float),
    LogRule(r"Available KV cache memory: ([\d.]+) GiB", "facts.kv_gib", float),
    LogRule(r"KV cache size: ([\d,]+) tokens", "facts.kv_tokens", count),
    LogRule(r"Estimated CUDA graph memory: ([\d.]+) GiB", "facts.estimated_graph_gib", float),
    LogRule(r"CUDA graph pool memory: ([\d.]+) GiB \(actual\)", "facts.pool_gib", float),
    LogRule(r"Truncating max_cudagraph_capture_size to (\d+)", "facts.truncated_to", int),
)


def rules_for(names: frozenset[str]) -> tuple[LogRule, ...]:
    """Those messages that another engine on vLLM prints too, without its version and modes."""
    return tuple(
        rule
        for rule in RULES
        if rule.target.partition(".")[2] in names
        or rule.target == "captured"
        or rule.target.startswith("facts.")
    )


def with_batch_limit(reading: LogReading) -> LogReading:
    """max_num_seqs from the number of full decode graphs, where the log does not state it.

    Full decode graphs exist up to max_num_seqs requests, so their count brackets it.
    """
    full = reading.graphs.get("full")
    if "max_num_seqs" in reading.settings or not full or not reading.captured:
        return reading
    q = 1 + reading.settings.get("num_speculative_tokens", 0)
    usable = [n for n in rounded(reading.captured, q) if n >= q]
    if full > len(usable):
        return reading
    least = usable[full - 1] // q
    below = f" and below {-(-usable[full] // q)}" if full < len(usable) else ""
    note = (
        f"max_num_seqs is not in the log; {full} full graphs mean {least} or more{below}; "
        f"{least} is assumed."
    )
    settings = {**reading.settings, "max_num_seqs": least}
    return replace(reading, settings=settings, notes=(*reading.notes, note))
