"""The settings an engine declares, and the check of what a user gives for them."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.errors import SettingError


class SettingType(StrEnum):
    """What a setting holds, and so which widget or text form asks for it."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    CHOICE = "choice"
    SIZES = "sizes"
    TEXT = "text"


@dataclass(frozen=True)
class Setting:
    """One setting that changes what an engine captures.

    default : None where the engine chooses by itself (the help says how)
    minimum, maximum : inclusive bounds of a number; of each entry of SIZES
    choices : the words of a CHOICE
    """

    name: str
    type: SettingType
    default: Any
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


LARGEST = 2**20
"""No setting of an engine is meaningful above it, and lists stay short enough to compute."""


def whole(
    name: str, default: int | None, help: str, minimum: int = 1, maximum: int = LARGEST
) -> Setting:
    return Setting(name, SettingType.INT, default, help, minimum=minimum, maximum=maximum)


def switch(name: str, help: str, default: bool = False) -> Setting:
    return Setting(name, SettingType.BOOL, default, help)


def choice(name: str, default: str | None, choices: tuple[str, ...], help: str) -> Setting:
    return Setting(name, SettingType.CHOICE, default, help, choices=choices)


def size_list(name: str, help: str, minimum: int | None = 1) -> Setting:
    return Setting(name, SettingType.SIZES, None, help, minimum=minimum, maximum=LARGEST)


def number(
    name: str, default: float | None, help: str, minimum: float = 0.0, maximum: float | None = None
) -> Setting:
    return Setting(name, SettingType.FLOAT, default, help, minimum=minimum, maximum=maximum)


def text(name: str, default: str, help: str) -> Setting:
    return Setting(name, SettingType.TEXT, default, help)


def checked(
    label: str, declared: Sequence[Setting], given: Mapping[str, object] | None
) -> dict[str, Any]:
    """Every declared setting with its value: given, converted and in range, or the default.

    Texts are converted ("256", "true", "1,2,4"), so that a command line and a form share this.
    Raises SettingError for an unknown name, a value of the wrong kind or out of range.
    """
    known = {setting.name: setting for setting in declared}
    values = {name: setting.default for name, setting in known.items()}
    for name, value in (given or {}).items():
        if name not in known:
            raise SettingError(
                f"{label} has no setting {name!r} here; known are {', '.join(sorted(known))}."
            )
        if value is not None:
            values[name] = _converted(label, known[name], value)
    return values


def _converted(label: str, setting: Setting, value: object) -> Any:
    try:
        result = _CONVERT[setting.type](value)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(label, setting, value, _KINDS[setting.type]) from None
    if setting.type is SettingType.CHOICE:
        return _one_of(label, setting, result)
    for item in result if isinstance(result, tuple) else (result,):
        _check_range(label, setting, item)
    return result


def _one_of(label: str, setting: Setting, value: str) -> str:
    for word in setting.choices:
        if word.lower() == value.strip().lower():
            return word
    raise _wrong(label, setting, value, f"one of {', '.join(setting.choices)} is")


def _check_range(label: str, setting: Setting, value: Any) -> None:
    if isinstance(value, bool | str):
        return
    if setting.minimum is not None and value < setting.minimum:
        raise _wrong(label, setting, value, f"{setting.minimum:g} or more is")
    if setting.maximum is not None and value > setting.maximum:
        raise _wrong(label, setting, value, f"{setting.maximum:g} or less is")


def _wrong(label: str, setting: Setting, value: object, expected: str) -> SettingError:
    shown = repr(value) if isinstance(value, str | int | float) else reprlib.repr(value)
    return SettingError(f"{label}: {setting.name} is {shown[:200]}; {expected} expected.")


def _as_int(value: object) -> int:
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, str):
        return int(value.strip())
    if isinstance(value, float) and not value.is_integer():
        raise ValueError
    return int(value)  # type: ignore[call-overload]


def _as_float(value: object) -> float:
    if isinstance(value, bool):
        raise TypeError
    result = float(value)  # type: ignore[arg-type]
    if not math.isfinite(result):
        raise ValueError
    return result


def _as_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "yes": True, "on": True}
    words |= {"false": False, "0": False, "no": False, "off": False}
    if isinstance(value, str | int) and str(value).strip().lower() in words:
        return words[str(value).strip().lower()]
    raise ValueError


def sizes_of(value: object) -> tuple[int, ...]:
    """A list of whole numbers from a list, one number or a text such as "1,2,4" or "[1, 2]".

    Raises TypeError or ValueError for anything else, and for an empty list.
    """
    if isinstance(value, str):
        parts: Sequence[object] = value.strip("[]() ").replace(",", " ").split()
    elif isinstance(value, Sequence):
        parts = value
    else:
        parts = [value]
    if not parts:
        raise ValueError
    return tuple(_as_int(part) for part in parts)


def _as_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


_CONVERT: dict[SettingType, Any] = {
    SettingType.INT: _as_int,
    SettingType.FLOAT: _as_float,
    SettingType.BOOL: _as_bool,
    SettingType.CHOICE: _as_text,
    SettingType.SIZES: sizes_of,
    SettingType.TEXT: _as_text,
}

_KINDS = {
    SettingType.INT: "a whole number is",
    SettingType.FLOAT: "a number is",
    SettingType.BOOL: "true or false is",
    SettingType.CHOICE: "a word is",
    SettingType.SIZES: "a list of whole numbers such as 1,2,4 is",
    SettingType.TEXT: "text is",
}
