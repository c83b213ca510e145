"""SGLang's decode lines: requests over tokens a second is the mean step since the last line."""

from __future__ import annotations

import re

from core.calibration.evidence import Evidence, medians
from core.errors import FileContentError
from core.readers.common.head import Head
from core.readers.common.log_text import interest, iter_log
from core.readers.common.sglang_lines import split_head
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.sglang_log import detect, read_sglang_log

WANTED = interest(r"Decode batch")
MEAN = (
    "A decode line gives the mean step since the line before it (40 steps by default), prompts in "
    "between included, so these times are upper bounds; --decode-log-interval 1 makes them exact."
)
_LINE = re.compile(
    r"#running-req: (\d{1,9})\b.{0,800}?"
    r"(?:(?:cuda|cpu|npu|musa|xpu) graph: (?P<graph>True|False).{0,80}?)?"
    r"gen throughput \(token/s\): (?P<rate>\d{1,12}(?:\.\d+)?)"
)
_ACCEPTED = re.compile(r"accept len: (\d{1,6}(?:\.\d+)?)")


def read(source: Source, head: Head) -> Evidence | None:
    """Lines on a graph and eager ones apart; one tensor-parallel rank.

    Raises FileContentError for a log of SGLang without decode lines.
    """
    if not detect(head, ReadOptions()):
        return None
    pairs: dict[bool, list[tuple[int, float]]] = {True: [], False: []}
    first_rank: dict[str, int] | None = None
    left_out = 0
    for line in iter_log(source, WANTED):
        _, ranks, text = split_head(line.message)
        first_rank = ranks if first_rank is None else first_rank
        match = _LINE.search(text)
        rows, rate = (int(match[1]), float(match["rate"])) if match else (0, 0.0)
        if match is None or ranks != first_rank or not rows or not rate > 0:
            left_out += 1
        else:
            accepted = _ACCEPTED.search(text)
            tokens = rows * (float(accepted[1]) if accepted else 1.0)
            pairs[match["graph"] != "False"].append((rows, 1e6 * tokens / rate))
    if not any(pairs.values()):
        raise FileContentError(f"{source.name}: a log of SGLang without decode lines of a batch.")
    said = [f"{left_out:,} lines were left out: idle, of other ranks, or cut."] if left_out else []
    reading = read_sglang_log(source, head, ReadOptions())
    sizes = reading.captured.sizes if reading.captured is not None else None
    capture_s = reading.facts.get("capture_s")
    return Evidence(
        "SGLang decode lines",
        source.name,
        sizes if sizes or pairs[True] else (),
        graph_us=medians(pairs[True]),
        eager_us=medians(pairs[False]),
        capture_ms=1e3 * float(capture_s) / len(sizes) if sizes and capture_s else None,
        notes=(MEAN, *said),
    )
