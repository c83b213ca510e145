"""Flags, keys and variables of an engine, and how a command line, JSON or YAML is read for them.

Every source becomes the same thing: dotted paths with values, e.g.
`compilation_config.cudagraph_capture_sizes`. An engine's options say which setting a path means
and in which releases it exists.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from core.errors import FileContentError
from core.text.variables import quoted_variables, variables_in


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
    number : of a JSON option, the key that a bare number stands for
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
    number: str = ""


@dataclass(frozen=True)
class Given:
    """One option as it was found: its path, its raw value, and how the user wrote it.

    path : "" for a variable that stands alone and may hold any flags
    """

    path: str
    value: Any
    written: str


MOST_OPTIONS = 10_000

_OF_GRAPHS = re.compile("graph|capture|bucket")
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

    def nested(self, name: str) -> str | None:
        """The path of the one option whose last part this is, for a key that stands alone."""
        if "." in name or not _OF_GRAPHS.search(name):
            return None
        paths = {o.path for o in self.by_name.values() if plain(o.path).endswith(f".{name}")}
        return plain(paths.pop()) if len(paths) == 1 else None


def read_command(
    text: str, table: Table, rewrites: Sequence[tuple[str, str]] = ()
) -> tuple[Given, ...]:
    """Options of a command line, with NAME=value words as variables.

    rewrites : (pattern, replacement) for a word, or for two with one space between them, e.g.
        "-O3" as "--optimization-level=3"
    Raises FileContentError when quotes do not match.
    """
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError as error:
        raise FileContentError(f"The command line cannot be split: {error}.") from error
    for pattern, replacement in rewrites:
        words = [re.sub(pattern, replacement, word) for word in _paired(words, pattern)]
    return tuple(_walk(words, table))


def _paired(words: list[str], pattern: str) -> Iterator[str]:
    """The words, two of them as one where the pattern wants it so."""
    place = 0
    while place < len(words):
        pair = " ".join(words[place : place + 2])
        alone = not words[place].startswith("-") or not re.fullmatch(pattern, pair)
        yield words[place] if alone else pair
        place += 1 if alone else 2


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
        elif variables_in(word) and words[place - 2 : place - 1] != ["serve"]:
            yield Given("", word, word)


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
    if option is not None and option.form is Form.JSON:
        if option.number and re.fullmatch(r"\d+", str(value).strip()):
            value = {option.number: int(value)}
        value = _object(value, written) if isinstance(value, str) else value
    if isinstance(value, Mapping) and (option is None or option.form is Form.JSON):
        for key, inner in value.items():
            yield from _given(table, f"{path}.{key}", inner, f"{written}.{key}")
    else:
        yield Given(path, value, written)


def _object(text: str, written: str) -> Any:
    """An object of keys and values; None for null; the text itself where it is a variable.

    Raises FileContentError for anything else.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        value = _python_dict(text)
        if value is None and variables_in(text):
            return _with_variables(text)
        if value is None:
            raise FileContentError(
                f"{written}: {text[:60]!r} is no JSON ({error}); quote it as one word, e.g. "
                "'{\"key\":[1,2]}'."
            ) from error
    if value is not None and not isinstance(value, Mapping):
        raise FileContentError(
            f"{written}: {text[:60]!r} is JSON but no object of keys and values."
        )
    return value


def _python_dict(text: str) -> dict[Any, Any] | None:
    """A dict as Python prints it; None for anything else. Nothing is evaluated."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def _with_variables(text: str) -> Any:
    """What can be read around the variables of a JSON text; without any, the text itself."""
    try:
        value = json.loads(quoted_variables(text))
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, Mapping) else text


def read_object(text: str, what: str = "The configuration") -> tuple[str, Mapping[str, Any]]:
    """("JSON" or "Python dict", the object) of a text that starts with a brace.

    Raises FileContentError.
    """
    try:
        return "JSON", json.loads(text)
    except (ValueError, RecursionError) as error:
        value = _python_dict(text)
        if value is not None and all(isinstance(key, str) for key in value):
            return "Python dict", value
        value = _with_variables(text) if variables_in(text) else text
        if not isinstance(value, str):
            return "JSON", value
        raise FileContentError(f"{what} looks like JSON but is none: {error}.") from error


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
