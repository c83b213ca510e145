"""SGLang's decode lines: requests over tokens a second is the mean step since the last line."""

from __future__ import annotations

from collections.abc import Mapping

from core.calibration.evidence import Evidence, medians
from core.errors import FileContentError
from core.logs.lines import LogLine
from core.logs.sglang import FORM
from core.logs.sglang_steps import DECODE, decode
from core.readers.common.head import Head
from core.readers.common.log_reading import iter_log
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.sglang_log import detect

MEAN = (
    "A decode line gives the mean step since the line before it (40 steps by default), prompts in "
    "between included, so these times are upper bounds; --decode-log-interval 1 makes them exact."
)


def read(source: Source, head: Head) -> Evidence | None:
    """Lines on a graph and eager ones apart; one tensor-parallel rank.

    Raises FileContentError for a log of SGLang without decode lines.
    """
    if not detect(head, ReadOptions()):
        return None
    pairs: dict[bool, list[tuple[int, float]]] = {True: [], False: []}
    first_rank: Mapping[str, int] | None = None
    left_out, found = 0, FORM.begin()
    for line in iter_log(source, FORM.wanted):
        if DECODE not in line.message:
            found.feed(line)
            continue
        first_rank = line.ranks if first_rank is None else first_rank
        step = decode(line.message) if line.ranks == first_rank else None
        if step is None or not step.requests or not step.tokens_per_s or _cut(line):
            left_out += 1
            continue
        tokens = step.requests * (step.accepted or 1.0)
        pairs[step.graph is not False].append((step.requests, 1e6 * tokens / step.tokens_per_s))
    if not any(pairs.values()):
        raise FileContentError(f"{source.name}: a log of SGLang without decode lines of a batch.")
    said = [f"{left_out:,} lines were left out: idle, of other ranks, or cut."] if left_out else []
    log = found.finish()
    sizes, capture_s = log.sizes, log.capture_s
    return Evidence(
        "SGLang decode lines",
        source.name,
        sizes if sizes or pairs[True] else (),
        graph_us=medians(pairs[True]),
        eager_us=medians(pairs[False]),
        capture_ms=1e3 * capture_s / len(sizes) if sizes and capture_s else None,
        notes=(MEAN, *said),
    )


def _cut(line: LogLine) -> bool:
    """Whether the log ends within the line's rate."""
    return not line.ended and "," not in line.message.partition("gen throughput")[2]
