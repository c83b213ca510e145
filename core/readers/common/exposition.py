"""Lines of Prometheus' text exposition: name, labels, value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.readers.common.source import Source

MAX_LINE_BYTES = 1 << 20
_NAME = re.compile(r"([A-Za-z_:][\w:]*)\s*(\{)?")
_LABEL = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|\})')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@dataclass(frozen=True)
class Sample:
    """One value. `line` from 1."""

    line: int
    name: str
    labels: dict[str, str]
    value: float


def parse_sample(text: str, line: int = 0) -> Sample | None:
    """A sample line; None for comments, blank lines and anything else. Exemplars are cut off."""
    text = text.strip()
    match = _NAME.match(text)
    if not match or text.startswith("#"):
        return None
    labels: dict[str, str] = {}
    place = match.end()
    if match[2]:
        closed = text.startswith("}", place)
        place += closed
        while not closed:
            label = _LABEL.match(text, place)
            if label is None:
                if text[place:].lstrip().startswith("}"):  # a comma before the brace is legal
                    place = text.index("}", place) + 1
                    break
                return None
            labels[label[1]] = re.sub(r"\\.", lambda m: _ESCAPES.get(m[0], m[0]), label[2])
            place, closed = label.end(), label[3] == "}"
    fields = text[place:].split(" # ")[0].split()
    if not 1 <= len(fields) <= 2:
        return None
    value = parse_value(fields[0])
    return None if value is None else Sample(line, match[1], labels, value)


def parse_value(text: str) -> float | None:
    """A number as Prometheus writes it; None for NaN and for anything else."""
    try:
        value = float(text)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(value) else value


def parse_bound(text: str | None) -> float | None:
    """The upper end of a bucket, "+Inf" included."""
    return None if text is None else parse_value(text)


def iter_samples(source: Source) -> Iterator[Sample]:
    """Every sample of a scrape, until OpenMetrics' end mark."""
    for number, raw in source.lines(MAX_LINE_BYTES):
        text = raw.decode("utf-8", "replace")
        if text.startswith("# EOF"):
            return
        sample = parse_sample(text, number)
        if sample is not None:
            yield sample
