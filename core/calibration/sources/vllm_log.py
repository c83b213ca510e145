"""vLLM's log: a line a step (iteration details), or median forward times by padded size."""

from __future__ import annotations

from core.calibration.evidence import Evidence, StepList, medians
from core.calibration.tables import ITERATION
from core.errors import FileContentError
from core.readers.common.head import Head
from core.readers.common.log_text import interest, iter_log
from core.readers.common.source import Source
from core.readers.common.vllm_steps import FORWARD, ForwardTimes
from core.readers.options import ReadOptions
from core.readers.vllm_log import detect, read_vllm_log

WANTED = interest(r"Iteration\(", r"Batchsize")
ALONE = (
    "Times are of the step alone, without the host's time between steps; what steps read as "
    "context is not in the log, so its mean is part of the curve."
)
PADDED = (
    "Forward times by padded size, prefill among them, each with a device synchronisation: right "
    "for a curve of graphs, without the host's time between steps."
)


def read(source: Source, head: Head) -> Evidence | None:
    """Raises FileContentError for a log of vLLM without step times."""
    if not detect(head, ReadOptions()):
        return None
    steps, forward = StepList(), ForwardTimes()
    for line in iter_log(source, WANTED):
        if FORWARD in line.message:
            forward.feed(line)
        elif "Iteration(" in line.message:
            steps.add(_step(line.message))
    reading = read_vllm_log(source, head, ReadOptions())
    sizes = reading.captured.sizes if reading.captured is not None else None
    if reading.facts.get("enforce_eager") in (True, "True"):
        sizes = ()
    capture_s = reading.facts.get("capture_s")
    each = 1e3 * float(capture_s) / len(sizes) if sizes and capture_s else None
    if steps.rows:
        return Evidence(
            "vLLM iteration log",
            source.name,
            sizes,
            samples=steps.samples,
            capture_ms=each,
            notes=(ALONE, *steps.notes),
        )
    table = medians((n, 1e3 * ms) for found in forward.last.values() for n, _, ms in found if n)
    if not table:
        raise FileContentError(
            f"{source.name}: a log of vLLM without step times; start it with "
            "--enable-logging-iteration-details."
        )
    return Evidence(
        "vLLM forward times", source.name, sizes, graph_us=table, capture_ms=each, notes=(PADDED,)
    )


def _step(text: str) -> tuple[float, int, int, int] | None:
    """None for a line that is cut, and for a step without tokens or of an idle rank (dummy)."""
    match = ITERATION.search(text)
    if match is None:
        return None
    prompts, prompt_tokens, rows, tokens = (int(n[:9]) for n in match.groups()[:4])
    if prompt_tokens + tokens == 0:
        return None
    return 1e3 * float(match[5]), rows, prompts, prompt_tokens + tokens if prompts else 0
