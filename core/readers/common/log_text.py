"""Engine logs as plain messages: no colours, no carriage returns, no prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.readers.common.source import Source

MAX_LINE_BYTES = 32 << 20
KEPT_CHARS = 20_000
"""No message we look for is longer, except start-up configurations; a longer line is a prompt."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PREFIX = re.compile(
    r"^(?:\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\s+)?"  # a container's time
    r"(?:(?:stdout|stderr)\s+[FP]\s+)?"
    r"(?P<process>(?:\([\w.\-]+(?: [^()]*)?\)\s*)*)"  # (APIServer pid=1)
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+)?"
    r"(?P<time>\d\d-\d\d \d\d:\d\d:\d\d)?\s*"
    r"(?P<place>\[[\w./\-]+(?:\.py)?:\d+\])?\s?"
)


@dataclass(frozen=True)
class LogLine:
    """One message. `process` is what stands in brackets before it; `time` has no year."""

    number: int
    message: str
    process: str = ""
    time: str = ""


def iter_log(source: Source) -> Iterator[LogLine]:
    """Every message; a progress bar's updates are messages of their own."""
    for number, line in source.lines(MAX_LINE_BYTES):
        for piece in line[:KEPT_CHARS].decode("utf-8", "replace").split("\r"):
            text = strip_ansi(piece)
            if text.strip():
                yield parse_line(text, number)


def strip_ansi(text: str) -> str:
    return _ANSI.sub("", text) if "\x1b" in text else text


def parse_line(text: str, number: int = 0) -> LogLine:
    """Take the prefix off: container time, process, level, time, file and line."""
    match = _PREFIX.match(text)
    if match is None:
        return LogLine(number, text.strip())
    return LogLine(
        number,
        text[match.end() :].strip(),
        (match["process"] or "").strip(),
        match["time"] or "",
    )
