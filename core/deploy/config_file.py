"""A configuration file that a command names: its keys joined with the command's flags."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.deploy.launch import file_named
from core.deploy.marks import written
from core.engines import ENGINES
from core.engines.options import Form, Table, plain, read_command, read_mapping
from core.errors import ProjectError
from core.text.yaml_text import read_yaml

_FLAGS = {
    "vllm": ("config",),
    "ascend": ("config",),
    "gaudi": ("config",),
    "sglang": ("config",),
    "trtllm": ("config", "extra_llm_api_options", "extra_engine_args"),
}
_FILE_WINS = ("trtllm",)
"""trtllm-serve lets the file replace what flags say; the others the other way round."""


@dataclass(frozen=True)
class Joined:
    """Arguments with the file's keys as flags; what was not understood, and what was decided."""

    words: tuple[str, ...]
    notes: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()


def joined(engine: str, rest: Sequence[str], files: Mapping[str, str]) -> Joined:
    """The arguments with what the file that they name says."""
    at, path = _named(engine, rest)
    if at is None:
        return Joined(tuple(rest))
    others = (*rest[: at[0]], *rest[at[1] :])
    text = file_named(files, path)
    if text is None:
        why = f"reads {written(path)}, which is not in the text: what it sets is not known here"
        return Joined(others, (f"{why}; give that file too.",))
    try:
        data = read_yaml(text)
    except ProjectError as error:
        return Joined(others, (f"{written(path)} cannot be read: {error}",))
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        return Joined(others, (f"{written(path)} holds no keys and values; it was not read.",))
    return _merged(engine, others, data, path)


def _named(engine: str, rest: Sequence[str]) -> tuple[tuple[int, int] | None, str]:
    """The places of the flag with its value, and the file's path."""
    for at, word in enumerate(rest):
        name, equals, value = word.partition("=")
        if not word.startswith("--") or plain(name) not in _FLAGS.get(engine, ()):
            continue
        if equals:
            return (at, at + 1), value
        if at + 1 < len(rest):
            return (at, at + 2), rest[at + 1]
    return None, ""


def _merged(engine: str, rest: Sequence[str], data: dict[str, Any], path: str) -> Joined:
    table = Table(ENGINES[engine].options)
    in_flags = _paths_of_flags(engine, rest, table)
    in_file = {given.path for given in read_mapping(data, table)}
    both = sorted(in_flags & in_file)
    if engine in _FILE_WINS:
        rest = _without(rest, table, set(both))
        kept = data
    else:
        kept = _pruned(data, table, set(both))
    winner = "the file" if engine in _FILE_WINS else "the flag"
    decided = tuple(f"{one} stands in flags and in {written(path)}; {winner} wins." for one in both)
    return Joined((*rest, *as_flags(kept, table)), decided=decided)


def _paths_of_flags(engine: str, rest: Sequence[str], table: Table) -> set[str]:
    try:
        given = read_command(shlex.join(rest), table, ENGINES[engine].rewrites)
    except ProjectError:
        return set()
    return {one.path for one in given}


def _without(rest: Sequence[str], table: Table, paths: set[str]) -> tuple[str, ...]:
    """The words without these flags and their values."""
    kept: list[str] = []
    dropping = False
    for word in rest:
        if word.startswith("-") and not word[1:2].isdigit():
            dropping = table.path_of(word.partition("=")[0]) in paths
        if not dropping:
            kept.append(word)
    return tuple(kept)


def _pruned(data: Mapping[str, Any], table: Table, gone: set[str], at: str = "") -> dict[str, Any]:
    """The mapping without the keys of these paths."""
    kept: dict[str, Any] = {}
    for key, value in data.items():
        path = table.path_of(f"{at}.{key}" if at else str(key))
        if path in gone:
            continue
        inside = isinstance(value, Mapping)
        kept[key] = _pruned(value, table, gone, path) if inside else value
    return kept


def as_flags(data: Mapping[str, Any], table: Table) -> list[str]:
    """Keys and values as --key=value; objects and lists as JSON."""
    words: list[str] = []
    for key, value in data.items():
        option = table.find(table.path_of(str(key)))
        is_object = option is not None and option.form is Form.JSON
        if value is None and not is_object:
            continue
        text = (
            value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
        )
        words.append(f"--{str(key).lstrip('-')}={text}")
    return words
