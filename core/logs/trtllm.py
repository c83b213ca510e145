"""What TensorRT-LLM's PyTorch backend states at its start (docs/formats.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.logs.collect import LogForm
from core.logs.lines import interest
from core.logs.record import EngineLog
from core.logs.rules import Into, rule, setting

MARKS = re.compile(
    r"iter = \d+, (?:global_rank|rank) = |Creating CUDA graph instances for \d+ batch sizes"
    r"|CUDA graph warmup.{0,80}? for batch size=\d+|\[TRT-LLM\] \[[A-Z]\]"
)
WANTED = interest(r"iter = ", r"[Gg]raph", r"KV cache", r"max_", r"[Mm]emory", r"%\|", r"OutOf")

_GIB = r"[\d.]{1,12}"
RULES = (
    rule("Creating CUDA graph", r"instances for (?P<graphs>\d+) batch sizes"),
    rule("max memory in KV cache", rf"KV cache\s*: (?P<kv_gib>{_GIB}) GiB"),
    rule("max tokens in paged KV", r"KV cache \((?P<kv_tokens>\d+)\)"),
    rule("max_seq_len=", r"max_seq_len=(?P<max_model_len>\d+)"),
    rule("Memory used outside torch", rf": (?P<outside_torch_gib>{_GIB}) GiB"),
    setting("max_batch_size=", r"(?<![\w'\"`])max_batch_size=(?P<max_batch_size>\d+)"),
    setting("max_num_tokens=", r"(?<![\w'\"`])max_num_tokens=(?P<max_num_tokens>\d+)"),
    setting("max_num_requests=", r"\bmax_seq_len=(?P<max_seq_len>\d+), max_num_requests="),
    rule("CUDA graph warmup", r"CUDA graph warmup.{0,80}? for batch size=(?P<size>\d{1,9})",
         Into.CAPTURED, every=True),
    rule("max tokens in paged KV", "", Into.KV_POOL),
    rule("CUDA graph warmup", r"CUDA graph warmup.{0,80}? for batch size=", Into.CAPTURE),
)  # fmt: skip


def _warnings(log: EngineLog) -> Iterator[str]:
    """That more graphs are to come than the log shows."""
    planned, seen = log.number("graphs"), len(log.captured.value) if log.captured else 0
    if planned is not None and seen < planned:
        yield f"{seen} of {planned:.0f} batch sizes are named; the log tells no more of the list."


FORM = LogForm(
    id="trtllm",
    name="trtllm-log",
    label="TensorRT-LLM log",
    marks=MARKS,
    wanted=WANTED,
    rules=RULES,
    rank=22,
    warnings=_warnings,
)
