"""Flags, keys and variables of an engine, and how a command line, JSON or YAML is read for them.

Every source becomes the same thing: dotted paths with values, e.g.
`compilation_config.cudagraph_capture_sizes`. An engine's options say which setting a path means
and in which releases it exists.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from core.errors import FileContentError


class Form(StrEnum):
    """How an option takes its value on a command line."""

    VALUE = "value"
    LIST = "list"
    SWITCH = "switch"
    JSON = "json"


@dataclass(frozen=True)
class Option:
    """One option of an engine.

    path : its flag, key or variable, with underscores and dots
    setting : the declared setting it gives; None where `convert` names the settings itself
    aliases : other spellings ("-tp", "VLLM_X")
    since, until, deprecated : releases from which it exists, is gone, is announced as going
    instead : what to write in place of a removed or deprecated one
    convert : from the raw value to the setting's, or to {setting: value} when setting is None
    """

    path: str
    setting: str | None = None
    form: Form = Form.VALUE
    aliases: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    deprecated: str | None = None
    instead: str = ""
    convert: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Given:
    """One option as it was found: its path, its raw value, and how the user wrote it."""

    path: str
    value: Any
    written: str


MOST_OPTIONS = 10_000

_ENVIRONMENT = re.compile(r"^([A-Z][A-Z0-9_]+)=(.*)$", re.DOTALL)


def plain(name: str) -> str:
    """The form in which names compare: no leading dashes, lower case, underscores."""
    return name.lstrip("-").replace("-", "_").lower()


class Table:
    """An engine's options by every spelling."""

    def __init__(self, options: Sequence[Option]) -> None:
        self.by_name = {
            plain(name): option for option in options for name in (option.path, *option.aliases)
        }

    def path_of(self, name: str) -> str:
        """The dotted path of a spelling: an alias is replaced, also in front of a dot."""
        whole = plain(name)
        if whole in self.by_name:
            return plain(self.by_name[whole].path)
        head, dot, rest = whole.partition(".")
        option = self.by_name.get(head)
        return f"{plain(option.path)}.{rest}" if dot and option else whole

    def find(self, path: str) -> Option | None:
        return self.by_name.get(path)


def read_command(
    text: str, table: Table, rewrites: Sequence[tuple[str, str]] = ()
) -> tuple[Given, ...]:
    """Options of a command line, with NAME=value words as variables.

    rewrites : (pattern, replacement) for single words, e.g. "-O3" as "--optimization-level=3"
    Raises FileContentError when quotes do not match.
    """
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError as error:
        raise FileContentError(f"The command line cannot be split: {error}.") from error
    for pattern, replacement in rewrites:
        words = [re.sub(pattern, replacement, word) for word in words]
    return tuple(_walk(words, table))


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not word[1].isdigit()


def _walk(words: list[str], table: Table) -> Iterator[Given]:
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        variable = _ENVIRONMENT.match(word)
        if variable:
            yield from _given(table, variable[1], variable[2], variable[1])
        elif _is_flag(word):
            name, equals, value = word.partition("=")
            option = table.find(table.path_of(name))
            if equals:
                yield from _given(table, name, value, name)
                continue
            taken = _values(words, place, option)
            place += len(taken)
            value = taken if option is not None and option.form is Form.LIST else " ".join(taken)
            yield from _given(table, name, value, name)


def _values(words: list[str], place: int, option: Option | None) -> list[str]:
    """The words after a flag that belong to it."""
    form = option.form if option else None
    if form is Form.SWITCH:
        return []
    taken: list[str] = []
    while place < len(words) and not _is_flag(words[place]):
        if option is None and _ENVIRONMENT.match(words[place]):
            break  # docker run -e NAME=value
        taken.append(words[place])
        place += 1
        if form is not Form.LIST:
            break
    return taken


def _given(table: Table, name: str, value: Any, written: str) -> Iterator[Given]:
    """The option itself, or, for an object, what it holds."""
    path = table.path_of(name)
    option = table.find(path)
    if isinstance(value, str) and option is not None and option.form is Form.JSON:
        value = _object(value, written)
    if isinstance(value, Mapping) and (option is None or option.form is Form.JSON):
        for key, inner in value.items():
            yield from _given(table, f"{path}.{key}", inner, f"{written}.{key}")
    else:
        yield Given(path, value, written)


def _object(text: str, written: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileContentError(
            f"{written}: {text[:60]!r} is no JSON ({error}); quote it as one word, e.g. "
            "'{\"key\":[1,2]}'."
        ) from error
    if not isinstance(value, Mapping):
        raise FileContentError(
            f"{written}: {text[:60]!r} is JSON but no object of keys and values."
        )
    return value


def read_mapping(data: Mapping[str, Any], table: Table) -> tuple[Given, ...]:
    """Options of a JSON or YAML document.

    Raises FileContentError for one that is deeper or larger than any configuration, as aliases
    of YAML can make it.
    """
    every = (given for key, value in data.items() for given in _given(table, key, value, key))
    try:
        found = tuple(islice(every, MOST_OPTIONS + 1))
    except RecursionError as error:
        raise FileContentError("The configuration is nested without end.") from error
    if len(found) > MOST_OPTIONS:
        raise FileContentError(f"The configuration holds more than {MOST_OPTIONS} values.")
    return found
