"""References to variables in a text: `$X`, `${X:-8}`, `$(( X + 1 ))`, `$(command)`, `{{ x }}`."""

from __future__ import annotations

import json
import re
from typing import Any

_REFERENCE = re.compile(
    r"\$\(\((?P<sum>[^()]*)\)\)"
    r"|(?P<command>\$\([^()]*\))"
    r"|\$\{[!#]?(?P<braced>\w+|[@*])[^}]*\}"
    r"|\$(?P<bare>\w+|[@*])"
    r"|(?P<template>\{\{.*?\}\})"
)
_NAME = re.compile(r"[A-Za-z_]\w*")


def variables_in(value: Any) -> tuple[str, ...]:
    """What a value refers to, each once: names, and commands and templates as they are written.

    value : a text, or a list that may hold some; anything else refers to nothing
    """
    texts = value if isinstance(value, list | tuple) else (value,)
    found: list[str] = []
    for text in texts:
        for match in _REFERENCE.finditer(text) if isinstance(text, str) else ():
            if match["sum"] is not None:
                found += _NAME.findall(match["sum"]) or [match[0]]
            else:
                found.append(next(group for group in match.groups() if group is not None))
    return tuple(dict.fromkeys(found))


def quoted_variables(text: str) -> str:
    """JSON in which a bare `$X` stands as a text of its own, so that the rest can be read."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(
        part if part.startswith('"') else _REFERENCE.sub(lambda match: json.dumps(match[0]), part)
        for part in parts
    )
