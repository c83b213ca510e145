"""vLLM's log: a line a step (iteration details), or median forward times by padded size."""

from __future__ import annotations

from core.calibration.evidence import Evidence, StepList, medians
from core.errors import FileContentError
from core.logs.vllm import FORM
from core.logs.vllm_steps import FORWARD, ITERATION, Iteration, iteration
from core.readers.common.head import Head
from core.readers.common.log_reading import iter_log
from core.readers.common.source import Source
from core.readers.common.vllm_steps import ForwardTimes
from core.readers.options import ReadOptions
from core.readers.vllm_log import detect

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
    steps, forward, found = StepList(), ForwardTimes(), FORM.begin()
    for line in iter_log(source, FORM.wanted):
        if FORWARD in line.message:
            forward.feed(line)
        elif ITERATION in line.message:
            steps.add(_step(iteration(line.message)))
        else:
            found.feed(line)
    log = found.finish()
    sizes = log.sizes
    each = 1e3 * log.capture_s / len(sizes) if sizes and log.capture_s else None
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


def _step(step: Iteration | None) -> tuple[float, int, int, int] | None:
    """None for a line that is cut, and for a step without tokens or of an idle rank (dummy)."""
    if step is None or step.dummy or not step.all_tokens:
        return None
    return 1e3 * step.ms, step.rows, step.prompts, step.all_tokens if step.prompts else 0
