"""Whether a condition of a script holds: True, False, or None where the file cannot tell."""

from __future__ import annotations

import fnmatch
import operator
from collections.abc import Callable, Sequence

from core.deploy.marks import is_mark, is_marked

_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-gt": operator.gt,
    "-ge": operator.ge,
    "-lt": operator.lt,
    "-le": operator.le,
}


def holds(words: Sequence[str]) -> bool | None:
    """`[ .. ]`, `[[ .. ]]`, `test ..`, `true` and `false`; None for any other command.

    words : expanded. A variable that nothing sets counts as empty for -z, as it does in `${X:-8}`,
    and decides nothing else.
    """
    if list(words) in (["true"], [":"], ["false"]):
        return words[0] != "false"
    if not words or words[0] not in ("[", "[[", "test"):
        return None
    inside = list(words[1:] if words[0] == "test" else words[1:-1])
    turned = inside[:1] == ["!"]
    result = _test(inside[1:] if turned else inside)
    return result if result is None or not turned else not result


def _test(words: list[str]) -> bool | None:
    if len(words) == 2 and words[0] in ("-z", "-n"):
        if is_mark(words[1]):
            return True if words[0] == "-z" else None
        empty = None if is_marked(words[1]) else words[1] == ""
        return empty if empty is None or words[0] == "-z" else not empty
    if any(is_marked(word) for word in words) or len(words) != 3:
        return None
    left, sign, right = words
    if sign in ("=", "==", "!="):
        return fnmatch.fnmatchcase(left, right) == (sign != "!=")
    if sign in _NUMBERS and left.lstrip("-").isdigit() and right.lstrip("-").isdigit():
        return _NUMBERS[sign](int(left), int(right))
    return None


def matches(word: str, patterns: Sequence[str]) -> bool | None:
    """Whether a `case` word fits one of its patterns."""
    if list(patterns) == ["*"]:
        return True
    if is_marked(word) or any(is_marked(pattern) for pattern in patterns):
        return None
    return any(fnmatch.fnmatchcase(word, pattern) for pattern in patterns)
