"""Container: what every kind of deployment file comes down to, before engines are recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Container:
    """One thing that a file starts.

    image : with its tag; words : entrypoint and arguments, marks for what is not set
    env : its variables; files : {path: text} that it may read
    settings : keys and values, for files that give settings without a command
    engine : as the kind of file itself says; packages : {engine id: release} it installs
    notes : what was not understood
    open : (variable, why nothing gives its value), for variables that stand in the words
    """

    name: str
    role: str = ""
    image: str = ""
    words: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] | None = None
    engine: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    open: tuple[tuple[str, str], ...] = ()
