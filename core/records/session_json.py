"""Tuning sessions to and from JSON, checked field by field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.errors import RecordError
from core.records.json import profile_from_json, to_json_dict
from core.records.measuring import Profile
from core.records.origin import SizeUnit
from core.records.session import SESSION_FORMAT, TuningSession, WorkloadRef
from core.records.traffic import BucketSet
from core.records.typed import check_types


def session_to_json(session: TuningSession) -> dict[str, Any]:
    """The document as plain JSON types.

    Raises RecordError if a profile holds NaN or infinity.
    """
    return {
        "format": session.format,
        "name": session.name,
        "workload": asdict(session.workload) if session.workload else None,
        "settings": dict(session.settings),
        "sets": [set_to_json(item) for item in session.sets],
        "profiles": {name: to_json_dict(item) for name, item in session.profiles.items()},
        "jobs": list(session.jobs),
        "notes": session.notes,
    }


def set_to_json(item: BucketSet) -> dict[str, Any]:
    """A bucket set as plain JSON types."""
    return {
        "name": item.name,
        "sizes": list(item.sizes),
        "unit": item.unit.value,
        "note": item.note,
    }


def session_from_json(data: Any, where: str = "session") -> TuningSession:
    """The document, every field checked; unknown fields and newer formats are refused.

    Raises RecordError or InputError (a value out of range).
    """
    values = _object(data, where)
    if values.get("format") != SESSION_FORMAT or isinstance(values.get("format"), bool):
        raise RecordError(
            f"{where}: format is {values.get('format')!r}, this version reads {SESSION_FORMAT}; "
            "update Bucketwise to open it."
        )
    known = {"format", "name", "workload", "settings", "sets", "profiles", "jobs", "notes"}
    _only(values, known, known, where)
    profiles = _object(values["profiles"], f"{where}.profiles")
    return TuningSession(
        name=values["name"],
        workload=_workload(values["workload"], f"{where}.workload"),
        settings=_object(values["settings"], f"{where}.settings"),
        sets=tuple(
            set_from_json(item, f"{where}.sets[{i}]")
            for i, item in enumerate(_list(values["sets"], f"{where}.sets"))
        ),
        profiles={
            name: checked_profile(item, f"{where}.profiles.{name}")
            for name, item in profiles.items()
        },
        jobs=tuple(_texts(values["jobs"], f"{where}.jobs")),
        notes=values["notes"],
    )


def set_from_json(data: Any, where: str = "set") -> BucketSet:
    """Raises RecordError or CaptureSizesError."""
    values = _object(data, where)
    _only(values, {"name", "sizes", "unit", "note"}, {"name", "sizes"}, where)
    for size in _list(values["sizes"], f"{where}.sizes"):
        if not isinstance(size, int) or isinstance(size, bool):
            raise RecordError(f"{where}.sizes holds {size!r}; whole numbers are expected.")
    try:
        unit = SizeUnit(values.get("unit", SizeUnit.REQUESTS))
    except ValueError as error:
        units = [unit.value for unit in SizeUnit]
        raise RecordError(f"{where}.unit is {values['unit']!r}; use one of {units}.") from error
    made = BucketSet(values["name"], tuple(values["sizes"]), unit, values.get("note", ""))
    check_types(made, where)
    return made


def checked_profile(data: Any, where: str) -> Profile:
    """A profile whose every value has the declared type. Raises RecordError or InputError."""
    made = profile_from_json(data, where)
    check_types(made, where)
    return made


def canonical(value: Any) -> str:
    """JSON text that is the same for the same content: sorted keys, ASCII, no spaces."""
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))


def digest_of(data: bytes) -> str:
    """SHA-256 as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def parse_json(text: str | bytes, where: str) -> Any:
    """Strict JSON: no NaN, no repeated keys. Raises RecordError."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise RecordError(f"{where} is not valid JSON: {reason}.") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _workload(data: Any, where: str) -> WorkloadRef | None:
    if data is None:
        return None
    values = _object(data, where)
    _only(values, {"name", "digest", "is_example"}, {"name", "digest"}, where)
    if not isinstance(values["digest"], str):
        raise RecordError(f"{where}.digest is {values['digest']!r}; a text is expected.")
    made = WorkloadRef(values["name"], values["digest"], values.get("is_example", False))
    check_types(made, where)
    return made


def _object(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise RecordError(f"{where}: an object was expected, got {type(data).__name__}.")
    return dict(data)


def _list(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list):
        raise RecordError(f"{where}: a list was expected, got {type(data).__name__}.")
    return data


def _texts(data: Any, where: str) -> list[str]:
    for item in _list(data, where):
        if not isinstance(item, str):
            raise RecordError(f"{where} holds {item!r}; texts are expected.")
    return data


def _only(values: Mapping[str, Any], known: set[str], needed: set[str], where: str) -> None:
    unknown = sorted(set(values) - known)
    if unknown:
        raise RecordError(
            f"{where}: unknown field {unknown[0][:80]!r}; known are {', '.join(sorted(known))}."
        )
    missing = sorted(needed - set(values))
    if missing:
        raise RecordError(f"{where}: field {missing[0]!r} is missing.")
