"""Does a stored setting have the type that a widget holds?"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any


def fits(value: Any, default: Any) -> bool:
    """Is `value` of the type of `default`; with None for a default anything is."""
    if default is None:
        return True
    if isinstance(default, (list, tuple)):
        several = isinstance(value, (list, tuple))
        if not default:  # nothing tells what it holds: texts and numbers are all that widgets have
            return several and all(isinstance(item, (str, int, float)) for item in value)
        return several and all(fits(item, default[0]) for item in value)
    if isinstance(default, Mapping):
        return isinstance(value, Mapping)
    if isinstance(default, float):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(default, (bool, int, Enum)):
        return type(value) is type(default)
    return isinstance(value, str) if isinstance(default, str) else True
