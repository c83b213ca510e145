"""Any frozen record to plain JSON values and back, checked by the types that it declares.

For records of numbers, texts, choices, arrays, tuples and other records. What JSON cannot carry,
what is missing, unknown or of another type is refused by name.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from core.errors import RecordError

R = TypeVar("R")


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def to_plain(value: Any) -> Any:
    """The record's fields as JSON types; arrays and tuples become lists.

    Raises RecordError on NaN, infinity and values of other types.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (np.ndarray, np.generic)):
        return to_plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise RecordError(f"{repr(value)[:80]} cannot be written as JSON.")


def from_plain(cls: type[R], data: Any, where: str) -> R:
    """The record of class `cls`, every field checked; fields with a default may be missing.

    Raises RecordError naming the field, or what the record itself raises for its values.
    """
    if not isinstance(data, Mapping):
        raise RecordError(f"{where}: an object was expected, got {type(data).__name__}.")
    declared = {item.name: item for item in fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(str(key) for key in data if key not in declared)
    if unknown:
        raise RecordError(
            f"{where}: unknown field {unknown[0][:80]!r}; known are {', '.join(sorted(declared))}."
        )
    values = {}
    for name, item in declared.items():
        if name in data:
            values[name] = _read(_hints(cls)[name], data[name], f"{where}.{name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise RecordError(f"{where}: field {name!r} is missing.")
    return cls(**values)


def _read(hint: Any, value: Any, where: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        hint = next(arg for arg in get_args(hint) if arg is not type(None))
        origin = get_origin(hint)
    if origin is Literal:
        return _chosen(value, get_args(hint), where)
    if origin is tuple:
        inner = get_args(hint)[0]
        return tuple(_read(inner, v, f"{where}[{i}]") for i, v in enumerate(_list(value, where)))
    if origin is np.ndarray:
        return _array(get_args(get_args(hint)[1])[0], value, where)
    if is_dataclass(hint):
        return from_plain(hint, value, where)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(_chosen(value, [item.value for item in hint], where))
    return _scalar(hint, value, where)


def _scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is bool and isinstance(value, bool):
        return value
    if hint is str and isinstance(value, str):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        with suppress(OverflowError):  # a whole number beyond every float
            if math.isfinite(float(value)):
                return float(value)
    words = {bool: "true or false", str: "a text", int: "a whole number", float: "a number"}
    raise _wrong(value, where, words.get(hint, "something else"))


def _array(dtype: type, value: Any, where: str) -> Any:
    whole = issubclass(dtype, np.integer)
    for i, item in enumerate(_list(value, where)):
        _scalar(int if whole else float, item, f"{where}[{i}]")
        if whole and not -(2**63) <= item < 2**63:
            raise _wrong(item, f"{where}[{i}]", "a number of 64 bits")
    return np.array(value, dtype)


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(value, where, "a list")
    return value


def _chosen(value: Any, choices: Any, where: str) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise _wrong(value, where, f"one of {list(choices)}")
    return value


def _wrong(value: Any, where: str, wanted: str) -> RecordError:
    return RecordError(f"{where} is {repr(value)[:80]}; {wanted} is expected.")
