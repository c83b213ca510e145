"""Engine logs as plain messages: no colours, no carriage returns, no prefixes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.readers.common.head import Head
from core.readers.common.source import Source

MAX_LINE_BYTES = 32 << 20
KEPT_CHARS = 200_000
"""No message we look for is longer; what is, holds somebody's prompt."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PREFIX = re.compile(
    r"^(?:\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\s+)?"  # a container's time
    r"(?:(?:stdout|stderr)\s+[FP]\s+)?"
    r"(?P<process>(?:\([\w.\-]+(?: [^()]*)?\)\s*)*)"  # (APIServer pid=1)
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+)?"
    r"(?P<time>\d\d-\d\d \d\d:\d\d:\d\d)?\s*"
    r"(?P<place>\[[\w./\-]+(?:\.py)?:\d+\])?\s?"
)


TEXT_KEYS = ("log", "message", "msg", "line", "MESSAGE", "textPayload", "fields")
"""Keys under which containers and log collectors keep the line itself."""


@dataclass(frozen=True)
class LogLine:
    """One message. `process` is what stands in brackets before it; `time` has no year."""

    number: int
    message: str
    process: str = ""
    time: str = ""


def detect_log(head: Head, marks: re.Pattern[str]) -> bool:
    """Whether the beginning holds a message of the engine, also in JSON lines of a collector."""
    if not head.is_text or marks.search(strip_ansi(head.text)) is None:
        return False
    shape = head.json
    if shape is None:
        return True
    return shape.lines and any(_wrapped(row) is not None for row in shape.sample)


def interest(*words: str) -> re.Pattern[bytes]:
    """Lines that can matter to a reader: those with one of these expressions."""
    return re.compile("|".join(words).encode())


def iter_log(source: Source, wanted: re.Pattern[bytes]) -> Iterator[LogLine]:
    """Messages that can matter; a progress bar's updates are messages of their own."""
    for number, line in source.lines(MAX_LINE_BYTES, wanted):
        if wanted.search(line) is None:
            continue
        for piece in _unwrap(line).split("\r"):
            text = strip_ansi(piece)
            if text.strip():
                yield parse_line(text, number)


def _unwrap(line: bytes) -> str:
    """The line, or the text inside a collector's JSON object."""
    if line.startswith(b"{") and len(line) < KEPT_CHARS:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        inner = _wrapped(row) if isinstance(row, dict) else None
        if inner is not None:
            return inner.rstrip("\n")
    return line[:KEPT_CHARS].decode("utf-8", "replace")


def _wrapped(row: dict[str, Any]) -> str | None:
    for key in TEXT_KEYS:
        value = row.get(key)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str):
            return value
    return None


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
