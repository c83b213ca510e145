"""What TGI states at its start, as text or JSON lines.

Source: text-generation-inference 3.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from core.logs.collect import LogForm
from core.logs.lines import interest
from core.logs.record import EngineLog, Stated
from core.logs.rules import Into, rule

MARKS = re.compile(
    r"Cuda Graphs are (?:enabled for sizes|disabled)|Using default cuda graphs \["
    r"|Free memory before the warmup|Free RAM before cuda graph"
    r"|text_generation_(?:router|launcher)|cuda graph warmup failed"
)
WANTED = interest(r"[Gg]raph", r"[Mm]emory", r"KV-cache", r"RAM", r"OutOf")

_MB = r"[\d.]{1,12}"
_LIST = r"\[(?P<sizes>[\d,\s]*)\]"
RULES = (
    rule("KV-cache blocks", r"blocks: (?P<kv_blocks>\d+), size: (?P<block_size_tokens>\d+)"),
    rule("before the warmup", rf"warmup: (?P<free_before_warmup_mb>{_MB}) MB"),
    rule("allocating the cache", rf"cache: (?P<free_after_cache_mb>{_MB}) MB"),
    rule("memory used for CUDA graphs", rf"graphs: (?P<graph_mb>{_MB}) MB"),
    rule("Total memory available", rf"available: (?P<available_mb>{_MB}) MB"),
    rule("Free RAM before", rf"graphs? (?P<free_before_graphs_gb>{_MB})\s*GB"),
    rule("Free RAM after", rf"graphs? (?P<free_after_graphs_gb>{_MB})\s*GB"),
    rule("default cuda graphs", rf"Using default cuda graphs {_LIST}", Into.CAPTURED),
    rule("enabled for sizes", rf"Cuda Graphs are enabled for sizes {_LIST}", Into.CAPTURED),
    rule("Cuda Graphs are disabled", "", Into.OFF, "Cuda Graphs are disabled"),
    rule("uda graph warmup failed", "", Into.FAILED),
    rule("KV-cache blocks", r"KV-cache blocks: \d+,", Into.KV_POOL),
    rule("memory used for CUDA graphs", "", Into.CAPTURE),
)


def _derived(log: EngineLog) -> Mapping[str, Stated[Any]]:
    """Free memory less that of graphs, and whether it is what the log says is available [MB]."""
    free, took = log.number("free_after_cache_mb"), log.number("graph_mb")
    if free is None or took is None:
        return {}
    stated, left = log.facts["graph_mb"], round(free - took, 4)
    result: dict[str, Stated[Any]] = {
        "free_minus_graphs_mb": Stated(left, stated.line, stated.text)
    }
    available = log.number("available_mb")
    if available is not None:
        stated = log.facts["available_mb"]
        result["consistent"] = Stated(abs(left - available) < 0.05, stated.line, stated.text)
    return result


FORM = LogForm(
    id="tgi",
    name="tgi-log",
    label="TGI log",
    marks=MARKS,
    wanted=WANTED,
    rules=RULES,
    rank=23,
    derived=_derived,
)
