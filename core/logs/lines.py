"""Lines of a log as messages: unwrapped from a collector's JSON, split at bars, prefixes off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from core.logs.bars import updates
from core.logs.prefix import NO_RANKS, peel

KEPT_CHARS = 200_000
"""No message we look for is longer; what is, holds somebody's prompt."""
TEXT_KEYS = ("log", "message", "msg", "line", "MESSAGE", "textPayload", "fields")
"""Keys under which containers and log collectors keep the line itself."""


class Unended(bytes):
    """A last line without its end: what it ends with may be cut."""


class LogLine(NamedTuple):
    """One message.

    number : from 1, in the file
    process, source, time, ranks : as core.logs.prefix.Peeled
    ended : False for the last message of a log that does not end its line
    """

    number: int
    message: str
    process: str = ""
    time: str = ""
    source: str = ""
    ranks: Mapping[str, int] = NO_RANKS
    ended: bool = True

    @property
    def speaker(self) -> str:
        """Who printed it: processes and containers print at the same time."""
        return f"{self.source} {self.process}".strip()


def interest(*words: str) -> re.Pattern[bytes]:
    """Lines that can matter: those with one of these expressions."""
    return re.compile("|".join(words).encode())


def messages(
    lines: Iterable[tuple[int, bytes]], wanted: re.Pattern[bytes] | None = None
) -> Iterator[LogLine]:
    """Messages of numbered lines; a bar's updates are messages of their own."""
    for number, line in lines:
        if wanted is not None and wanted.search(line) is None:
            continue
        pieces = [text for text in updates(unwrapped(line)) if text.strip()]
        for place, text in enumerate(pieces):
            cut = isinstance(line, Unended) and place == len(pieces) - 1
            yield parse_line(text, number, ended=not cut)


def text_lines(text: str) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a text at hand."""
    lines = text.replace("\r\n", "\n").encode().split(b"\n")
    yield from enumerate(lines[:-1], 1)
    if lines[-1]:
        yield len(lines), Unended(lines[-1])


def parse_line(text: str, number: int = 0, ended: bool = True) -> LogLine:
    """One message without its prefixes."""
    found = peel(text)
    if found.message.startswith("{") and (inner := _inner(found.message)) is not None:
        again = peel(inner.rstrip("\n"))
        source = f"{found.source} {again.source}".strip()
        found = again._replace(source=source, process=again.process or found.process)
    return LogLine(
        number, found.message, found.process, found.time, found.source, found.ranks, ended
    )


def unwrapped(line: bytes) -> str:
    """The line, or the text inside a collector's JSON object."""
    inner = _inner(line) if line.startswith(b"{") else None
    return line[:KEPT_CHARS].decode("utf-8", "replace") if inner is None else inner.rstrip("\n")


def _inner(line: str | bytes) -> str | None:
    """The text inside a collector's JSON object; None where it is none."""
    if len(line) >= KEPT_CHARS:
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return wrapped_text(row) if isinstance(row, dict) else None


def wrapped_text(row: Mapping[str, Any]) -> str | None:
    """The line inside a collector's object; None where it holds none."""
    for key in TEXT_KEYS:
        value = row.get(key)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str):
            return value
    return None
