"""A tuning session as a document: the choices, bucket sets and profiles of one piece of work.

The workload's numbers are not in it, only their digest: core.store.workloads keeps those apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import RecordError
from core.records.measuring import Profile
from core.records.traffic import BucketSet

SESSION_FORMAT = 1
"""Version of the session document; raised when a reader of the older one would be wrong."""

MAX_NAME_CHARS = 200
MAX_TEXT_CHARS = 100_000
MAX_ITEMS = 1_000
MAX_SIZES = 100_000
MAX_DEPTH = 8

_DIGEST = re.compile(r"[0-9a-f]{64}")
_JOB_ID = re.compile(r"[0-9A-Za-z_.-]{1,64}")
_MAX_INTEGER = 2**63


@dataclass(frozen=True)
class WorkloadRef:
    """Which traffic a session studies. digest : 64 hex digits that name its content."""

    name: str
    digest: str
    is_example: bool = False

    def __post_init__(self) -> None:
        checked_name(self.name, "The workload's name")
        if not _DIGEST.fullmatch(self.digest):
            raise RecordError(f"workload: digest {self.digest!r} is not 64 hex digits.")


@dataclass(frozen=True)
class TuningSession:
    """One session's document.

    settings : {widget key: plain value}; None, bool, int, float, str, or lists and dicts of these
    sets : the user's bucket sets with their notes; names are unique
    profiles : {name: measured or imported profile}
    jobs : ids of measuring jobs sent from this session, oldest first
    Raises RecordError (a value that JSON or the limits of this module do not allow).
    """

    name: str = "Untitled"
    workload: WorkloadRef | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sets: tuple[BucketSet, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    jobs: tuple[str, ...] = ()
    notes: str = ""
    format: int = SESSION_FORMAT

    def __post_init__(self) -> None:
        checked_name(self.name, "The session's name")
        checked_text(self.notes, "The session's notes")
        for label in ("settings", "sets", "profiles", "jobs"):
            _few(getattr(self, label), label)
        settings = {
            checked_name(key, "A setting's key"): plain_value(value, f"settings.{key}")
            for key, value in self.settings.items()
        }
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "profiles", dict(self.profiles))
        object.__setattr__(self, "sets", tuple(self.sets))
        object.__setattr__(self, "jobs", tuple(self.jobs))
        for name in self.profiles:
            checked_name(name, "A profile's name")
        _check_sets(self.sets)
        for job_id in self.jobs:
            if not is_job_id(job_id):
                raise RecordError(f"jobs holds {job_id!r}, which is no job id.")


def is_job_id(text: Any) -> bool:
    """Can a session name this as a job?"""
    return isinstance(text, str) and _JOB_ID.fullmatch(text) is not None


def checked_name(text: Any, what: str) -> str:
    """The text, if it is one printable line of at most MAX_NAME_CHARS. Raises RecordError."""
    if not isinstance(text, str) or not text.strip():
        raise RecordError(f"{what} is {text!r}; give a text of one character or more.")
    if len(text) > MAX_NAME_CHARS:
        raise RecordError(f"{what} has {len(text)} characters; at most {MAX_NAME_CHARS} are kept.")
    if not text.isprintable():
        raise RecordError(f"{what} holds {_first_bad(text)}; use one line of printable text.")
    return text


def checked_text(text: Any, what: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """The text, if it is printable but for line ends and tabs. Raises RecordError."""
    if not isinstance(text, str):
        raise RecordError(f"{what}: a text is expected, got {type(text).__name__}.")
    if len(text) > max_chars:
        raise RecordError(f"{what}: {len(text)} characters; at most {max_chars} are kept.")
    rest = text.translate({10: " ", 13: " ", 9: " "})
    if not rest.isprintable():
        raise RecordError(f"{what}: the text holds {_first_bad(rest)}; take it out.")
    return text


def _first_bad(text: str) -> str:
    where, bad = next((i, c) for i, c in enumerate(text) if not c.isprintable())
    return f"the unprintable character U+{ord(bad):04X} at position {where + 1}"


def plain_value(value: Any, where: str, depth: int = 0) -> Any:
    """A copy that JSON carries unchanged; tuples become lists.

    Raises RecordError on any other type, NaN, infinity, and what is too long or too deep.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if len(value) > MAX_TEXT_CHARS:
            raise RecordError(f"{where}: {len(value)} characters; at most {MAX_TEXT_CHARS}.")
        return str(value)
    if isinstance(value, int) and abs(value) < _MAX_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, (list, tuple, Mapping)):
        return _plain_group(value, where, depth)
    raise RecordError(
        f"{where} is {repr(value)[:80]}; a session keeps texts, finite numbers, true and false, "
        "and lists or objects of these."
    )


def _plain_group(value: Any, where: str, depth: int) -> Any:
    if depth >= MAX_DEPTH:
        raise RecordError(f"{where}: more than {MAX_DEPTH} lists or objects inside each other.")
    if len(value) > MAX_SIZES:
        raise RecordError(f"{where}: {len(value)} items; at most {MAX_SIZES}.")
    if not isinstance(value, Mapping):
        return [plain_value(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    for key in value:
        if not isinstance(key, str):
            raise RecordError(f"{where}: key {key!r} is no text.")
    return {key: plain_value(item, f"{where}.{key}", depth + 1) for key, item in value.items()}


def plain_settings(values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a session can keep of `values`, and the keys of what it cannot."""
    kept, left_out = {}, []
    for key, value in values.items():
        try:
            kept[checked_name(key, "A setting's key")] = plain_value(value, key)
        except RecordError:
            left_out.append(key)
    return kept, tuple(left_out)


def _few(items: Any, label: str) -> None:
    if len(items) > MAX_ITEMS:
        raise RecordError(f"{label}: {len(items)} items; a session keeps at most {MAX_ITEMS}.")


def _check_sets(sets: tuple[BucketSet, ...]) -> None:
    seen = set()
    for item in sets:
        checked_name(item.name, "A bucket set's name")
        checked_text(item.note, f"The note of bucket set {item.name!r}")
        if len(item.sizes) > MAX_SIZES or item.sizes[-1] >= _MAX_INTEGER:
            raise RecordError(
                f"Bucket set {item.name!r} has {len(item.sizes)} sizes up to {item.sizes[-1]}; "
                f"at most {MAX_SIZES} sizes below 2**63 are kept."
            )
        if item.name in seen:
            raise RecordError(f"Two bucket sets are named {item.name!r}; rename one.")
        seen.add(item.name)
