"""What a kind of deployment file answers: whether a text is one, and what it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.deploy.container import Container


@dataclass(frozen=True)
class Source:
    """A text to be looked at.

    documents : its YAML or JSON documents that are mappings; empty for any other text
    variables : those the user gave
    """

    text: str
    documents: tuple[dict[str, Any], ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """label : in words for people; position : the order in which kinds are tried."""

    label: str
    position: int
    detect: Callable[[Source], bool]
    read: Callable[[Source], Iterable[Container]]


def texts(value: Any) -> list[str]:
    """A value as a list of words: a list's entries, one scalar, or nothing."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [as_text(item) for item in value if item is not None]
    return [as_text(value)]


def as_text(value: Any) -> str:
    """A scalar as a container sees it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def mapping(value: Any) -> dict[str, Any]:
    """The value where it is a mapping, with text keys; else empty."""
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}
