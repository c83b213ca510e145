"""Labels of ranges: "0-127", "(1024, 2048]", "<=512", ">8192", "8192+", "1k-2k"."""

from __future__ import annotations

import math
import re

_NUMBER = r"([\d][\d_.]*)\s*([kKmM]?)"
_PAIR = re.compile(rf"()\s*{_NUMBER}\s*(?:-|–|—|\.\.|\bto\b)\s*{_NUMBER}\s*()$")
_BRACKETS = re.compile(rf"([\[(])\s*{_NUMBER}\s*(?:-|–|—|\.\.|:|,)\s*{_NUMBER}\s*([\])])$")
_UP_TO = re.compile(rf"(<=|≤|<)\s*{_NUMBER}$")
_ABOVE = re.compile(rf"(>=|≥|>)\s*{_NUMBER}$")
_OPEN = re.compile(rf"{_NUMBER}\s*\+$")
MAX_LABEL = 64
_FACTOR = {"": 1, "k": 1000, "m": 1_000_000}


def parse_label(text: str) -> tuple[float, float, str] | None:
    """(low, high, ends): ends are "[]", "[)", "(]", "()", or "?" where the label does not say.

    None when the text is no range. A pair in brackets says its ends, "0-127" does not.
    """
    text = text[:MAX_LABEL].strip().strip('"').strip()
    if match := _BRACKETS.match(text) or _PAIR.match(text):
        low, high = _value(match[2], match[3]), _value(match[4], match[5])
        ends = (match[1] + match[6]) or "?"
        return None if low is None or high is None else (low, high, ends)
    if match := _UP_TO.match(text):
        high = _value(match[2], match[3])
        return None if high is None else (0.0, high, "[)" if match[1] == "<" else "[]")
    if match := _ABOVE.match(text):
        low = _value(match[2], match[3])
        return None if low is None else (low, math.inf, "(]" if match[1] == ">" else "[]")
    if match := _OPEN.match(text):
        low = _value(match[1], match[2])
        return None if low is None else (low, math.inf, "[]")
    return None


def _value(digits: str, factor: str) -> float | None:
    try:
        value = float(digits.replace("_", "")) * _FACTOR[factor.lower()]
    except ValueError:
        return None
    return value if value < 1e15 else None
