"""Releases of an engine: their order, and the nearest one whose rule we know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

_NUMBERS = re.compile(r"^v?(\d+(?:[.\-]\d+)*)(?:\.post(\d+))?")
_LATEST = (10**9,)
_KEY_LENGTH = 5


def version_key(text: str) -> tuple[int, ...] | None:
    """The order of a version text; None when it holds no number to order by.

    "main" comes after every number; a release candidate counts as its release.
    """
    if text.strip().lower() == "main":
        return _LATEST
    match = _NUMBERS.match(text.strip().lower())
    if not match:
        return None
    numbers = [int(part) for part in re.split(r"[.\-]", match.group(1))]
    padded = (numbers + [0] * _KEY_LENGTH)[: _KEY_LENGTH - 1]
    return (*padded, int(match.group(2) or 0))


@total_ordering
@dataclass(frozen=True, eq=False)
class Release:
    """A release whose rule is known; compares with version texts: `release >= "0.23"`."""

    text: str

    def _key(self) -> tuple[int, ...]:
        key = version_key(self.text)
        assert key is not None, f"{self.text} cannot be ordered"
        return key

    def __eq__(self, other: object) -> bool:
        return self._key() == version_key(str(other))

    def __lt__(self, other: Release | str) -> bool:
        key = version_key(str(other))
        assert key is not None, f"{other} cannot be ordered"
        return self._key() < key

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self.text


def resolve(label: str, versions: tuple[str, ...], asked: str | None) -> tuple[Release, str]:
    """The release whose rule answers, and a note when it is not the one asked for.

    label : the engine, for the note
    versions : releases whose rule is known, newest first
    asked : None for the newest
    Returns the newest known release that is not newer than the one asked for (the oldest known
    when all are newer, the newest known when the text holds no version number).
    """
    if asked is None or asked in versions:
        return Release(asked or versions[0]), ""
    key = version_key(asked)
    if key is None:
        return Release(versions[0]), (
            f"{asked!r} names no {label} release; answered with the rule of {versions[0]}, "
            "the newest known."
        )
    for known in versions:
        known_key = version_key(known)
        assert known_key is not None
        if known_key == key:
            return Release(known), ""
        if known_key < key:
            return Release(known), _note(label, asked, known, "the nearest one known before it")
    oldest = versions[-1]
    return Release(oldest), _note(label, asked, oldest, "the oldest known")


def _note(label: str, asked: str, known: str, which: str) -> str:
    return (
        f"{label} {asked} was not read; answered with the rule of {known}, {which}. "
        "Compare with the list in your start-up log."
    )
