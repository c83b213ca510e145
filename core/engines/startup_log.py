"""An engine's start-up log: what it says it captured, under which limits, at which cost.

Searches for messages anywhere in a line, since prefixes and colours differ between launches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.engines.settings import sizes_of
from core.errors import FileContentError

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class LogRule:
    """One message of an engine.

    pattern : with one group, the value
    target : "version", "captured", "prefill", "settings.NAME", "graphs.WHAT" or "facts.NAME"
    every : all matches together are the value; else the last one is
    """

    pattern: str
    target: str
    convert: Callable[[str], Any] = str
    every: bool = False


@dataclass(frozen=True)
class LogReading:
    """What a start-up log says.

    captured : the list in the log, ascending; () when the log says that nothing is captured, None
        when it does not say
    graphs : {what: graphs captured}; facts : seconds, GiB and tokens by name
    """

    version: str | None = None
    captured: tuple[int, ...] | None = None
    prefill: tuple[int, ...] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    graphs: dict[str, int] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def clean(text: str) -> str:
    """Without colours; each update of a progress bar on its own line."""
    return _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def read_log(text: str, rules: Sequence[LogRule]) -> LogReading:
    """Everything the rules find."""
    lines = clean(text)
    found: dict[str, dict[str, Any]] = {"": {}, "settings": {}, "graphs": {}, "facts": {}}
    for rule in rules:
        matches = [match[1] for match in re.finditer(rule.pattern, lines)]
        if not matches:
            continue
        every = [_converted(rule, match) for match in (matches if rule.every else matches[-1:])]
        group, _, name = rule.target.rpartition(".")
        found[group][name] = every if rule.every else every[0]
    lists = {name: found[""].get(name) for name in ("captured", "prefill")}
    return LogReading(
        version=found[""].get("version"),
        **{name: tuple(sorted(set(got))) for name, got in lists.items() if got is not None},
        settings=found["settings"],
        graphs=found["graphs"],
        facts=found["facts"],
    )


def _converted(rule: LogRule, match: str) -> Any:
    try:
        return rule.convert(match)
    except (ValueError, SyntaxError, TypeError, IndexError, RecursionError) as error:
        name = rule.target.rpartition(".")[2]
        raise FileContentError(
            f"Start-up log: {match[:60]!r} cannot be read as {name}; cut the log to its start."
        ) from error


def sizes(text: str) -> tuple[int, ...]:
    """The inside of a printed list; () for an empty one."""
    return sizes_of(text) if text.strip() else ()


def yes(text: str) -> bool:
    return text == "True"


def count(text: str) -> int:
    """A number with thousands separators."""
    return int(text.replace(",", ""))
