"""One table cell -> a number, or the reason why it is none."""

from __future__ import annotations

import math
import re

MAX_COUNT = 2**31 - 1
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?$")
_GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?$")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$")
BLANKS = frozenset(("", "nan", "none", "null", "na", "n/a", "-", "nat", "inf", "-inf", "infinity"))


def plain_number(cell: str, decimal: str = ".") -> str | None:
    """The cell as Python writes numbers, thousands separators taken out; None if it is none."""
    text = cell.strip().strip("\"'").strip()
    if decimal == ",":
        if _GROUPED_COMMA.match(text):
            text = text.replace(".", "")
        text = text.replace(",", ".")
    elif _GROUPED.match(text):
        text = text.replace(",", "")
    return text if _NUMBER.match(text) else None


def is_number(cell: str, decimal: str = ".") -> bool:
    return plain_number(cell, decimal) is not None


def is_blank(cell: str) -> bool:
    return cell.strip().strip("\"'").strip().lower() in BLANKS


def parse_count(cell: str, label: str, decimal: str = ".") -> int | str:
    """A whole number, or the reason why the cell holds none, e.g. "prompt tokens is blank"."""
    if is_blank(cell):
        return f"{label} is blank"
    number = plain_number(cell, decimal)
    if number is None:
        return f"{label} is not a number"
    return whole(number, label)


def whole(number: str, label: str) -> int | str:
    """A whole number within 31 bits, or a reason."""
    try:
        value = int(number)
    except ValueError:
        real = float(number)
        if not math.isfinite(real) or real != math.floor(real):
            return f"{label} is not a whole number"
        value = int(real)
    return value if abs(value) <= MAX_COUNT else f"{label} is above {MAX_COUNT:,}"


def count_of(value: object, label: str) -> int | str:
    """A token count out of JSON (3, 3.0 or "3"), or the reason why it is none."""
    if isinstance(value, bool) or value is None:
        return f"{label} is blank" if value is None else f"{label} is not a number"
    if isinstance(value, int):
        return value if abs(value) <= MAX_COUNT else f"{label} is above {MAX_COUNT:,}"
    if isinstance(value, float):
        if math.isnan(value):
            return f"{label} is blank"
        return whole(repr(value), label)
    if isinstance(value, str):
        return parse_count(value[:64], label)
    return f"{label} is not a number"
