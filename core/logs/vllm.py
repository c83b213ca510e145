"""What vLLM states at its start, releases 0.4 to 0.33, and vllm-ascend with it.

Source: message formats of these releases (docs/formats.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.logs.collect import LogForm
from core.logs.lines import interest
from core.logs.record import EngineLog, Stated
from core.logs.rules import Into, rule, setting

MARKS = re.compile(
    r"CUDAGraph (?:Config Settings|Stats)|Unpadded Tokens\s*\|\s*Padded Tokens"
    r"|Iteration\(\d+\): \d+ context requests|Batchsize forward time stats"
    r"|Avg prompt throughput: [\d.]+ tokens/s.{0,400}?Running: \d+ reqs"
    r"|Graph capturing finished in|LLM engine \(v[\d.]+|Capturing CUDA graph"
    r"|Capturing cudagraphs for decoding|vLLM API server version"
    r"|non-default args: \{|args: Namespace\("
    r"|Truncating max_cudagraph_capture_size|Available KV cache memory: "
    r"|Capping cudagraph capture sizes from|setting cudagraph_mode=|Skipping CUDA graph capture"
    r"|No valid cudagraph capture sizes remain|Overriding cudagraph_mode "
    r"|GPU KV cache size: [\d,]+ tokens|Estimated CUDA graph memory"
    r"|Profiling CUDA graph memory: \w+=|CUDA graph pool memory: "
)
WANTED = interest(
    r"\|", r"[Cc][Uu][Dd][Aa]\s?[Gg]raph", r"Capture sizes", r"- Mode:", r"Iteration\(",
    r"Batchsize", r"Maximum", r"Avg prompt", r"GiB", r"KV cache", r"engine", r"max_",
    r"num_spec", r"blocks", r"took", r"[Gg]raph", r"memory", r"[\d\]]\s*$", r"version", r"eager",
    r"scheduling", r"Runner", r"OutOf",
)  # fmt: skip

_GIB = r"-?[\d.]{1,12}"
_GIVEN = r"'{name}': (?P<{name}>{value})(?=[,}}])"
_CONFIG = ("with config", "Namespace(")
_BOOL = r"True|False"
_ENDS = r"(?=[,)\s])"
"""What follows a value in a printed configuration: without it, the value may be cut."""


def _configured(name: str, value: str, names: str = "") -> tuple[Any, ...]:
    """A setting from the lines that print the configuration; a hint in quotes is none."""
    pattern = rf"(?<!['\"`\w.]){names or name}=(?P<{name}>{value}){_ENDS}"
    given = _GIVEN.format(name=name, value=value)
    return (
        *(setting(line, pattern, after=True) for line in _CONFIG),
        setting("non-default args: {", given, after=True),
    )


SETTINGS = (
    *_configured("enforce_eager", _BOOL),
    *_configured("tensor_parallel_size", r"\d+"),
    *_configured("data_parallel_size", r"\d+"),
    *_configured("max_num_seqs", r"\d+"),
    *_configured("max_num_batched_tokens", r"\d+"),
    *_configured("max_loras", r"\d+"),
    *_configured("enable_lora", _BOOL),
    *_configured("num_speculative_tokens", r"\d+", r"num_spec(?:ulative)?_tokens"),
    setting("'num_speculative_tokens'",
            r"'num_speculative_tokens': (?P<num_speculative_tokens>\d+)"),
    setting("Chunked prefill is enabled",
            r"max_num_batched_tokens=(?P<max_num_batched_tokens>\d+)(?=[.,\s])"),
    setting("'cudagraph_specialize_lora'",
            rf"'cudagraph_specialize_lora': (?P<cudagraph_specialize_lora>{_BOOL})"),
    setting("Model Runner", r"Using (?P<runner>V2) Model Runner"),
)  # fmt: skip

FACTS = (
    rule("Graph capturing finished", r"finished in (?P<capture_s>\d+) secs?"),
    rule("Graph capturing finished", rf"finished in \d+ secs?, took (?P<graph_gib>{_GIB}) GiB"),
    rule("Available KV cache memory", rf"memory: (?P<kv_gib>{_GIB}) GiB"),
    rule("KV cache size", r"KV cache size: (?P<kv_tokens>[\d,]{1,20}) tokens"),
    rule("Maximum concurrency", r"concurrency for (?P<max_model_len>[\d,]{1,20}) tokens per "
         r"request: (?P<max_concurrency>[\d.,]{1,20})x"),
    rule("Estimated CUDA graph memory", rf"memory: (?P<estimated_graph_gib>{_GIB}) GiB total"),
    rule("CUDA graph pool memory", rf"memory: (?P<pool_gib>{_GIB}) GiB \(actual\)"),
    rule("CUDA graph pool memory",
         rf"\(actual\), (?P<estimated_graph_gib>{_GIB}) GiB \(estimated\)"),
    rule("init engine (", r"took (?P<init_s>[\d.]{1,12}) s"),
    rule("compilation:", r"\(compilation: (?P<compilation_s>[\d.]{1,12}) s"),
    rule("max_seq_len=", r"(?<!['\"`\w.])max_seq_len=(?P<max_model_len>\d+)" + _ENDS),
    rule("for CUDAGraph memory", r"(?P<peak_activation_gib>[\d.]{1,12}) GiB for peak activation"),
    rule("Model loading took", r"took (?P<weights_gib>[\d.]{1,12}) GiB"),
    rule("GPU blocks", r"# (?:GPU|cuda) blocks: (?P<kv_blocks>\d+)"),
    rule("Profiling CUDA graph memory", r"PIECEWISE=(?P<piecewise_graphs>\d+)"),
    rule("Profiling CUDA graph memory", r"FULL=(?P<full_graphs>\d+)"),
    rule("Profiling CUDA graph memory",
         r"PIECEWISE=\d+ \(largest=(?P<largest_piecewise>\d+)\)"),
    rule("Profiling CUDA graph memory", r"FULL=\d+ \(largest=(?P<largest_full>\d+)\)"),
    rule("Asynchronous scheduling is",
         r"Asynchronous scheduling is (?P<async_scheduling>enabled|disabled)"),
)  # fmt: skip

_DONE = r"[^:|]{0,120}:?\s+100%\|[^|]*\|\s*"
GRAPHS = (
    rule("Profiling CUDA graph memory", r"PIECEWISE=(?P<piecewise>\d+)", Into.GRAPHS),
    rule("Profiling CUDA graph memory", r"FULL=(?P<full>\d+)", Into.GRAPHS),
    rule("PIECEWISE)", r"Capturing CUDA graphs \((?:[\w\- ]+, )?PIECEWISE\)" + _DONE
         + r"(?P<piecewise>\d+)/", Into.GRAPHS),
    rule("FULL)", r"Capturing CUDA graphs \((?:[\w\- ]+, )?FULL\)" + _DONE + r"(?P<full>\d+)/",
         Into.GRAPHS),
    rule("Capturing CUDA graph shapes", r"Capturing CUDA graph shapes" + _DONE
         + r"(?P<piecewise>\d+)/", Into.GRAPHS),
)  # fmt: skip

STATEMENTS = (
    rule("LLM engine (v", r"LLM engine \(v(?P<release>[\w.+\-]+)\)", Into.RELEASE),
    rule("API server version", r"API server version (?P<release>\d[\w.+\-]+)", Into.RELEASE),
    rule("cudagraph_capture_sizes", r"['\"]cudagraph_capture_sizes['\"]: ?\[(?P<sizes>[\d,\s]*)\]",
         Into.CAPTURED),
    rule("- Capture sizes:", r"- Capture sizes: \[(?P<sizes>[\d,\s]*)\]", Into.CAPTURED),
    rule("cudagraph_mode", r"'cudagraph_mode': <CUDAGraphMode\.(?P<mode>\w+)", Into.MODE),
    rule("setting cudagraph_mode=",
         r"(?:CUDAGraphMode\.(?P<asked>\w+)|CUDAGraph) (?P<reason>is not supported.{0,400}?); "
         r"setting cudagraph_mode=(?:CUDAGraphMode\.)?(?P<mode>[A-Z_]+)", Into.DOWNGRADE),
    rule("Overriding cudagraph_mode",
         r"Overriding cudagraph_mode (?:from (?P<asked>[A-Z_]+) )?to (?P<mode>[A-Z_]+)",
         Into.DOWNGRADE),
    rule("Capping cudagraph capture sizes", r"from max (?P<asked>\d+) to (?P<largest>\d+)"
         r"(?P<reason> to fit [^.(]{0,80})?", Into.CAP),
    rule("Truncating max_cudagraph", r"capture_size to (?P<largest>\d+)", Into.CAP),
    rule("Skipping CUDA graph capture", "", Into.OFF, "Skipping CUDA graph capture"),
    rule("Cudagraph is disabled under eager mode", "", Into.OFF,
         "Cudagraph is disabled under eager mode"),
    rule("No valid cudagraph capture sizes remain", "", Into.OFF,
         "No valid cudagraph capture sizes remain"),
    rule("Enforce eager set, ", "", Into.OFF, "Enforce eager set"),
    rule("fallback to the eager mode", r"CUDA graph is not supported .{0,120}fallback to the eager",
         Into.OFF, "CUDA graph is not supported, fallback to the eager mode"),
    rule("LLM engine (v", "", Into.START),
    rule("KV cache size", r"KV cache size: [\d,]+ tokens", Into.KV_POOL),
    rule("Graph capturing finished in", "", Into.CAPTURE),
    rule("Graph capturing finished in", "", Into.FINISHED),
)  # fmt: skip


def _derived(log: EngineLog) -> Mapping[str, Stated[Any]]:
    """What the estimate missed, how long the list is, and what a full verification needs."""
    result: dict[str, Stated[Any]] = {}
    took, guess = log.number("graph_gib"), log.number("estimated_graph_gib")
    if took is not None and guess is not None:
        stated = log.facts["graph_gib"]
        short = round(took - guess, 4)
        result["graph_under_estimate_gib"] = Stated(short, stated.line, stated.text)
    if log.captured is not None:
        count = len(log.captured.value)
        result["configured_sizes"] = Stated(count, log.captured.line, log.captured.text)
    if "async_scheduling" in log.facts:
        stated = log.facts["async_scheduling"]
        result["async_scheduling"] = Stated(stated.value == "enabled", stated.line, stated.text)
    needed = _needed(log)
    if needed is not None and log.caps:
        result["needed_max"] = Stated(needed, log.caps[-1].line, log.caps[-1].text)
    return result


def _needed(log: EngineLog) -> int | None:
    """Tokens of a full verification batch, where requests and drafts are stated."""
    requests = log.settings.get("max_num_seqs")
    drafts = log.settings.get("num_speculative_tokens")
    if requests is None:
        return None
    return int(requests.value) * (1 + (int(drafts.value) if drafts is not None else 0))


def _warnings(log: EngineLog) -> Iterator[str]:
    """That the widest step has no graph any more."""
    needed = log.number("needed_max")
    top = min((cap.value.largest for cap in log.caps), default=None)
    if needed is not None and top is not None and needed > top:
        yield (
            f"A full verification batch of {needed:.0f} tokens runs eager: no graph holds more "
            f"than {top}."
        )


FORM = LogForm(
    id="vllm",
    name="vllm-log",
    label="vLLM log",
    marks=MARKS,
    wanted=WANTED,
    rules=(*SETTINGS, *FACTS, *GRAPHS, *STATEMENTS),
    rank=20,
    off_settings={"enforce_eager": True},
    derived=_derived,
    warnings=_warnings,
)
