"""YAML as plain values; whatever is wrong with it becomes one sentence with its line.

The safe loader's own constructors fail in many ways (`!!bool foo` with KeyError, an empty `!!int`
with IndexError, the 31st of February with ValueError); here every one of them names its line.
"""

from __future__ import annotations

from typing import Any

import yaml

from core.errors import FileContentError

MOST_CHARS = 2**19
MOST_OF_ONE = 2**17
"""The safe loader reads some 150,000 characters a second; settings are far shorter."""
MOST_VALUES = 100_000
DEEPEST = 100

_LOADER_FAULTS = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError),
    *(OverflowError, ArithmeticError),
)


class _Loader(yaml.SafeLoader):
    """The safe loader, whose constructors' faults name the line."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except _LOADER_FAULTS as error:
            tag = str(node.tag).replace("tag:yaml.org,2002:", "!!")
            value = str(node.value)[:60] if isinstance(node, yaml.ScalarNode) else "this"
            raise yaml.constructor.ConstructorError(
                None, None, f"{value!r} cannot be read as {tag}", node.start_mark
            ) from error


def read_yaml(text: str) -> Any:
    """The one document of a YAML text.

    Raises FileContentError, also for a text that aliases make larger than any configuration.
    """
    found = read_yaml_documents(text, MOST_OF_ONE)
    if len(found) > 1:
        raise FileContentError(f"YAML: {len(found)} documents where one is expected; give one.")
    return found[0] if found else None


def read_yaml_documents(text: str, most_chars: int = MOST_CHARS) -> list[Any]:
    """Every document of a YAML text. Raises FileContentError as `read_yaml`."""
    if len(text) > most_chars:
        raise FileContentError(
            f"YAML of {len(text):,} characters is no configuration; give the part that starts the "
            f"engine, {most_chars:,} at most."
        )
    try:
        found = list(yaml.load_all(text, Loader=_Loader))
    except RecursionError as error:
        raise FileContentError("YAML: the text is nested without end.") from error
    except (yaml.YAMLError, *_LOADER_FAULTS) as error:
        raise FileContentError(f"YAML: {_reason(error)}.") from error
    for document in found:
        check_extent(document)
    return found


def _reason(error: Exception) -> str:
    """The fault and its line, in one line."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    where = f"line {mark.line + 1}: " if mark is not None else ""
    return f"{where}{str(problem)[:200]}"


def check_extent(data: Any) -> None:
    """Raises FileContentError for values that hold themselves, or multiply, by aliases."""
    stack, seen = [(data, 0)], 0
    while stack:
        value, depth = stack.pop()
        if depth > DEEPEST:
            raise FileContentError("The configuration is nested without end.")
        inside = list(value.values()) if isinstance(value, dict) else value
        if not isinstance(inside, list | tuple | set):
            continue
        seen += len(inside) + 1
        if seen > MOST_VALUES:
            raise FileContentError(f"The configuration holds more than {MOST_VALUES} values.")
        stack += [(item, depth + 1) for item in inside]
