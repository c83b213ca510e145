"""One message of an engine, and what it states: the vocabulary of core/logs' engine files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

Value = bool | int | float | str


class Into(Enum):
    """What the groups of a pattern state.

    FACT, SETTING, GRAPHS : a value under the group's name. RELEASE, MODE, OFF : the one group
    (OFF without a group: `words`). CAPTURED, PREFILL : a printed list, or one size of a list.
    DOWNGRADE : mode, asked, reason. CAP : largest, asked, reason. FAILED : the message itself.
    START, KV_POOL, CAPTURE, FINISHED : that a server started, memory was allocated, a capture
    began or ended.
    """

    FACT = auto()
    SETTING = auto()
    GRAPHS = auto()
    RELEASE = auto()
    CAPTURED = auto()
    PREFILL = auto()
    MODE = auto()
    DOWNGRADE = auto()
    CAP = auto()
    OFF = auto()
    FAILED = auto()
    START = auto()
    KV_POOL = auto()
    CAPTURE = auto()
    FINISHED = auto()


@dataclass(frozen=True)
class Rule:
    """A message.

    needle : a part that is looked for first; pattern : what is stated
    unless : a part that makes the line another message (a hint, a help text)
    every : all matches together are one list; else a later message wins
    after : the pattern is looked for behind the first needle, so that it need not hold it
    item : where a list is not of plain sizes, one entry; its group is the size
    """

    needle: str
    pattern: re.Pattern[str]
    into: Into
    words: str = ""
    unless: str = ""
    every: bool = False
    item: str = ""
    after: bool = False


def rule(
    needle: str,
    pattern: str = "",
    into: Into = Into.FACT,
    words: str = "",
    unless: str = "",
    every: bool = False,
    item: str = "",
) -> Rule:
    """Without a pattern, that the needle stands in the line is all there is."""
    return Rule(needle, re.compile(pattern or re.escape(needle)), into, words, unless, every, item)


def setting(needle: str, pattern: str, after: bool = False) -> Rule:
    """A setting, from a line that prints settings; after : only behind the needle."""
    return Rule(needle, re.compile(pattern), Into.SETTING, after=after)


def typed(text: str) -> Value:
    """A printed value: True and False, numbers without thousands separators, else the text."""
    if text in ("True", "False"):
        return text == "True"
    plain = text.replace(",", "")
    if re.fullmatch(r"-?\d{1,15}", plain):
        return int(plain)
    if re.fullmatch(r"-?\d{1,12}\.\d+", plain):
        return float(plain)
    return text[:80]


def sizes_in(text: str) -> tuple[int, ...]:
    """Positive integers of a printed list, ascending and without repeats."""
    found = {int(n) for n in re.findall(r"\d{1,9}", text)}
    return tuple(sorted(n for n in found if n > 0))
