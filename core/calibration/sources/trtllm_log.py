"""TensorRT-LLM's iteration log (print_iter_log): requests, prompt tokens and time of each step."""

from __future__ import annotations

from core.calibration.evidence import Evidence, StepList
from core.errors import FileContentError
from core.logs.trtllm import FORM
from core.logs.trtllm_steps import ITERATION, Iteration, iteration
from core.readers.common.head import Head
from core.readers.common.log_reading import iter_log
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.trtllm_log import detect

HOST = (
    "Times are those of the engine's loop (host_step_time), which overlaps the card's; what steps "
    "read as context is not used, so its mean is part of the curve."
)


def read(source: Source, head: Head) -> Evidence | None:
    """Steps of the first rank. Raises FileContentError for such a log without timed steps."""
    if not detect(head, ReadOptions()):
        return None
    steps, rank, found = StepList(), None, FORM.begin()
    for line in iter_log(source, FORM.wanted):
        if ITERATION not in line.message:
            found.feed(line)
            continue
        step = iteration(line.message)
        rank = rank or step.rank
        steps.add(_step(step) if step.rank in (None, rank) else None)
    if not steps.rows:
        raise FileContentError(
            f"{source.name}: a log of TensorRT-LLM without timed steps; set print_iter_log: true."
        )
    return Evidence(
        "TensorRT-LLM iteration log",
        source.name,
        found.finish().sizes,
        samples=steps.samples,
        notes=(HOST, *steps.notes),
    )


def _step(step: Iteration) -> tuple[float, int, int, int] | None:
    """(us, decoding requests, prompts, tokens of a step with prefill); None: no such step."""
    if step.host_ms is None or step.scheduled is None or step.prompts is None:
        return None
    if step.prompt_tokens is None:
        return None
    rows = step.scheduled - step.prompts
    if step.host_ms <= 0 or step.scheduled == 0 or rows < 0:
        return None
    tokens = step.prompt_tokens + rows if step.prompts else 0
    return 1e3 * step.host_ms, rows, step.prompts, tokens
