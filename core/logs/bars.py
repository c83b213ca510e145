"""Progress bars of a capture, in every form in which collectors leave them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BAR = re.compile(
    r"(?P<what>(?:Captur|Warming)[^:|%]{0,200}?):?\s{0,9}\d{1,3}%\|[^|]{0,400}\|\s{0,9}"
    r"(?P<done>\d{1,9})/(?P<total>\d{1,9})(?:\s*\[(?P<time>[\d:]{1,12})<)?(?P<end>[^\]]{0,80}\])?"
)
_END = re.compile(r"(?<=/s\])|(?<=s/it\])")
_FRAGMENT = re.compile(
    r"\d{1,3}%\||[█▉▊▋▌▍▎▏]|^\s*\|[#\s]*\|?\s*\d{1,9}/\d{1,9}\b|^\s*\|#|^\s*\d{1,9}/\d{1,9} \["
    r"|\d\d:\d\d<(?:\d\d:|\?)"
)
_SIZE = re.compile(r"\b(?:bs|num_tokens)\s*=\s*(\d{1,9})")
_FREE = re.compile(r"avail_mem\s*=\s*([\d.]{1,12})\s*(?:GB|GiB)")
_RETURNS = ("#015", "^M")
MAX_BARS = 64
MAX_POINTS = 4096


def updates(text: str) -> list[str]:
    """The parts of a line that a terminal would have shown one after the other.

    Bars end at a carriage return (also where a collector wrote the sign as text), or run into each
    other and into the next message where it dropped the sign.
    """
    if "%|" not in text:
        return text.split("\r")
    for sign in _RETURNS:
        text = text.replace(sign, "\r")
    return [piece for part in text.split("\r") for piece in _END.split(part)]


def is_bar(text: str) -> bool:
    """Whether a line is a bar, or what is left of one."""
    return _FRAGMENT.search(text) is not None


@dataclass
class Bar:
    """One bar: how far it came, at which line, and free memory at each size [GiB].

    whole : False where the log ends within its last update, whose numbers may be cut
    """

    name: str
    done: int = 0
    total: int = 0
    seconds: int = 0
    line: int = 0
    size: int | None = None
    free_gib: list[tuple[int, float]] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return self.done >= self.total


@dataclass
class Bars:
    """Every bar of a log, by its name without size and memory."""

    found: dict[str, Bar] = field(default_factory=dict)

    def feed(self, message: str, line: int, ended: bool = True) -> None:
        """Take note of the updates in a message; ended : the message is not cut."""
        if "%|" not in message:
            return
        for match in _BAR.finditer(message):
            if ended or match["end"] or match.end() < len(message):
                self._take(match, line)

    def _take(self, match: re.Match[str], line: int) -> None:
        name = _SIZE.sub("", _FREE.sub("", match["what"]))
        name = " ".join(re.sub(r"\(\s*\)", "", name).split())[:60]
        if name not in self.found and len(self.found) >= MAX_BARS:
            return
        bar = self.found.setdefault(name, Bar(name))
        bar.done, bar.total, bar.line = int(match["done"]), int(match["total"]), line
        bar.seconds = _seconds(match["time"] or "0")
        size, free = _SIZE.search(match["what"]), _FREE.search(match["what"])
        if size is None:
            return
        bar.size = int(size[1])
        fresh = not bar.free_gib or bar.free_gib[-1][0] != bar.size
        if free and fresh and len(bar.free_gib) < MAX_POINTS:
            bar.free_gib.append((bar.size, float(free[1])))

    def open(self) -> Iterator[Bar]:
        """Bars that did not come to their end."""
        return (bar for bar in self.found.values() if not bar.complete)


def _seconds(time: str) -> int:
    """ "1:02:03" as seconds."""
    parts = reversed(time.split(":"))
    return sum(int(part[:6] or 0) * 60**place for place, part in enumerate(parts))
