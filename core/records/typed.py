"""Whether a record's values have the types that its dataclass declares."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from core.errors import RecordError


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def check_types(record: Any, where: str) -> None:
    """Raises RecordError naming the first field whose value is of another type than declared.

    An int is taken for a float; NaN and infinity are not.
    """
    for item in fields(record):
        _check(_hints(type(record))[item.name], getattr(record, item.name), f"{where}.{item.name}")


def _check(hint: Any, value: Any, where: str) -> None:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return
        hint = next(arg for arg in get_args(hint) if arg is not type(None))
        origin = get_origin(hint)
    if origin is tuple:
        if not isinstance(value, tuple):
            raise _wrong(value, where, "a list")
        for i, item in enumerate(value):
            _check(get_args(hint)[0], item, f"{where}[{i}]")
    elif origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _wrong(value, where, "an object")
        for key, item in value.items():
            _check(get_args(hint)[0], key, where)
            _check(get_args(hint)[1], item, f"{where}.{key}")
    elif is_dataclass(hint):
        _is(isinstance(value, hint), value, where, "an object")  # type: ignore[arg-type]
        check_types(value, where)
    else:
        _check_scalar(hint, value, where)


def _check_scalar(hint: Any, value: Any, where: str) -> None:
    if hint is bool:
        _is(isinstance(value, bool), value, where, "true or false")
    elif hint is int:
        _is(isinstance(value, int) and not isinstance(value, bool), value, where, "a whole number")
    elif hint is float:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        _is(good and math.isfinite(value), value, where, "a number")
    elif isinstance(hint, type) and issubclass(hint, Enum):
        _is(isinstance(value, hint), value, where, f"one of {[item.value for item in hint]}")
    else:
        _is(isinstance(value, str), value, where, "a text")


def _is(good: bool, value: Any, where: str, wanted: str) -> None:
    if not good:
        raise _wrong(value, where, wanted)


def _wrong(value: Any, where: str, wanted: str) -> RecordError:
    return RecordError(f"{where} is {repr(value)[:80]}; {wanted} is expected.")
