"""TensorRT-LLM's iteration log (print_iter_log): requests, prompt tokens and time of each step."""

from __future__ import annotations

import re

from core.calibration.evidence import Evidence, StepList
from core.errors import FileContentError
from core.readers.common.head import Head
from core.readers.common.log_text import interest, iter_log
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.trtllm_log import detect, read_trtllm_log

WANTED = interest(r"iter = ")
HOST = (
    "Times are those of the engine's loop (host_step_time), which overlaps the card's; what steps "
    "read as context is not used, so its mean is part of the curve."
)
_RANK = re.compile(r"global_rank = (\d{1,6})")
_HOST = re.compile(r"host_step_time = (\d{1,9}(?:\.\d+)?)ms")
_ELAPSED = re.compile(r"elapsed_time = (\d{1,9}(?:\.\d+)?)s")
_SCHEDULED = re.compile(r"num_scheduled_requests\s*[:=]\s*(\d{1,9})")
_PROMPTS = re.compile(r"'num_ctx_requests': (\d{1,9})")
_TOKENS = re.compile(r"'num_ctx_tokens': (\d{1,9})")


def read(source: Source, head: Head) -> Evidence | None:
    """Steps of the first rank. Raises FileContentError for such a log without timed steps."""
    if not detect(head, ReadOptions()):
        return None
    steps, rank = StepList(), None
    for line in iter_log(source, WANTED):
        seen = _RANK.search(line.message)
        rank = rank or (seen[1] if seen else None)
        ours = seen is None or seen[1] == rank
        steps.add(_step(line.message) if ours else None)
    if not steps.rows:
        raise FileContentError(
            f"{source.name}: a log of TensorRT-LLM without timed steps; set print_iter_log: true."
        )
    reading = read_trtllm_log(source, head, ReadOptions())
    return Evidence(
        "TensorRT-LLM iteration log",
        source.name,
        reading.captured.sizes if reading.captured is not None else None,
        samples=steps.samples,
        notes=(HOST, *steps.notes),
    )


def _step(text: str) -> tuple[float, int, int, int] | None:
    """(us, decoding requests, prompts, tokens of a step with prefill); None: no such step."""
    host, elapsed = _HOST.search(text), _ELAPSED.search(text)
    scheduled, prompts, tokens = (p.search(text) for p in (_SCHEDULED, _PROMPTS, _TOKENS))
    if not (host or elapsed) or scheduled is None or prompts is None or tokens is None:
        return None
    us = 1e3 * float(host[1]) if host else 1e6 * float(elapsed[1])  # type: ignore[index]
    count = int(prompts[1])
    rows = int(scheduled[1]) - count
    if us <= 0 or int(scheduled[1]) == 0 or rows < 0:
        return None
    return us, rows, count, int(tokens[1]) + rows if count else 0
