"""vLLM's log: a line a step (iteration details), or median forward times by padded size."""

from __future__ import annotations

from core.calibration.evidence import MAX_STEPS, Evidence, medians, step_samples
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
    steps, forward = [], ForwardTimes()
    for line in iter_log(source, WANTED):
        if FORWARD in line.message:
            forward.feed(line)
        elif (match := ITERATION.search(line.message)) and len(steps) < MAX_STEPS:
            steps.append(tuple(map(float, match.groups())))
    reading = read_vllm_log(source, head, ReadOptions())
    sizes = reading.captured.sizes if reading.captured is not None else None
    if reading.facts.get("enforce_eager") in (True, "True"):
        sizes = ()
    capture_s = reading.facts.get("capture_s")
    each = 1e3 * float(capture_s) / len(sizes) if sizes and capture_s else None
    steps = [row for row in steps if row[1] + row[3] > 0]
    if steps:
        prompts, prompt_tokens, rows, tokens, ms = zip(*steps, strict=True)
        together = [
            p + t if n else 0 for n, p, t in zip(prompts, prompt_tokens, tokens, strict=True)
        ]
        samples = step_samples([1e3 * t for t in ms], rows, prompts, together)
        return Evidence(
            "vLLM iteration log", source.name, sizes, samples=samples, capture_ms=each,
            notes=(ALONE,),
        )  # fmt: skip
    table = medians((n, 1e3 * ms) for found in forward.last.values() for n, _, ms in found if n)
    if not table:
        raise FileContentError(
            f"{source.name}: a log of vLLM without step times; start it with "
            "--enable-logging-iteration-details."
        )
    return Evidence(
        "vLLM forward times", source.name, sizes, graph_us=table, capture_ms=each, notes=(PADDED,)
    )
