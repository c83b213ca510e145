"""A reading taken apart into arrays and a JSON account, and put together again, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import RecordError
from core.readers.reading import Reading
from core.records import Grade, LengthHistogram, Origin, SizeUnit, StepHistogram, Trace
from core.records.session import plain_value
from core.records.session_json import set_from_json, set_to_json
from core.store.kept_texts import without_file_texts

ACCOUNT_FORMAT = 1
_TEXTS = ("format", "label")
_COUNTS = ("rows", "kept")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "trace": ("prompt_tokens", "output_tokens", "arrival_s", "prefix_hit_tokens"),
    "prompt_lengths": ("lengths", "counts"),
    "output_lengths": ("lengths", "counts"),
    "steps": ("sizes", "steps"),
}
_OPTIONAL = ("trace.arrival_s", "trace.prefix_hit_tokens")
_ACCOUNT = {
    *_TEXTS, *_COUNTS, "account", "grade", "dropped", "dropped_examples", "columns", "warnings",
    "facts", "captured", "parts",
}  # fmt: skip


def arrays_of(reading: Reading) -> dict[str, NDArray[Any]]:
    """{"trace.prompt_tokens": array, ...}; int64 or float64."""
    made = {}
    for part, labels in _PARTS.items():
        for label in labels:
            array = getattr(getattr(reading, part), label, None)
            if array is not None:
                array = np.asarray(array)
                made[f"{part}.{label}"] = array.astype(
                    np.float64 if array.dtype.kind == "f" else np.int64, copy=False
                )
    return made


def account_of(reading: Reading) -> dict[str, Any]:
    """Everything but the arrays, as plain JSON types, without the file's own texts.

    Raises RecordError if a fact is of no JSON type.
    """
    reading = without_file_texts(reading)
    made: dict[str, Any] = {label: getattr(reading, label) for label in (*_TEXTS, *_COUNTS)}
    made |= {
        "account": ACCOUNT_FORMAT,
        "grade": reading.grade.value,
        "dropped": dict(reading.dropped),
        "dropped_examples": {k: list(v) for k, v in reading.dropped_examples.items()},
        "columns": dict(reading.columns),
        "warnings": list(reading.warnings),
        "facts": plain_value(dict(reading.facts), "facts"),
        "captured": set_to_json(reading.captured) if reading.captured else None,
        "parts": {part: _words(getattr(reading, part)) for part in _PARTS},
    }
    return plain_value(made, "account")


def _words(part: Any) -> dict[str, Any] | None:
    """A part's fields that are no arrays."""
    if part is None:
        return None
    values = {item.name: getattr(part, item.name) for item in fields(part)}
    # Written only where it holds, so that what was kept before there was the word has its digest.
    if not values.get("decode_only", True):
        del values["decode_only"]
    return {k: v for k, v in values.items() if v is not None and not isinstance(v, np.ndarray)}


def reading_from(account: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Reading:
    """The reading, its numbers checked. Raises RecordError or HistogramError."""
    if account.get("account") != ACCOUNT_FORMAT or set(account) != _ACCOUNT:
        raise RecordError(
            f"The workload's account has format {account.get('account')!r}, this version reads "
            f"{ACCOUNT_FORMAT}; update Bucketwise to open it."
        )
    _check_account(account)
    try:
        parts = {part: _part(part, account["parts"].get(part), arrays) for part in _PARTS}
        grade = Grade(account["grade"])
    except (TypeError, ValueError, AttributeError) as error:
        raise RecordError(f"The workload's account: {error}.") from error
    captured = account["captured"]
    return Reading(
        **{label: account[label] for label in (*_TEXTS, *_COUNTS)},
        grade=grade,
        **parts,  # type: ignore[arg-type]
        dropped=account["dropped"],
        dropped_examples={k: tuple(v) for k, v in account["dropped_examples"].items()},
        columns=account["columns"],
        warnings=tuple(account["warnings"]),
        facts=account["facts"],
        captured=set_from_json(captured, "captured") if captured else None,
    )


def _check_account(account: Mapping[str, Any]) -> None:
    # Texts of any characters pass: what a file calls its columns is shown as text, never obeyed.
    _need(all(isinstance(account[label], str) for label in _TEXTS), "format")
    _need(all(type(account[label]) is int and account[label] >= 0 for label in _COUNTS), "rows")
    for label in ("dropped", "dropped_examples", "columns", "facts", "parts"):
        _need(isinstance(account[label], dict), label)
    _need(isinstance(account["warnings"], list), "warnings")
    _need(all(isinstance(text, str) for text in account["warnings"]), "warnings")
    _need(all(isinstance(text, str) for text in account["columns"].values()), "columns")
    _need(all(type(n) is int and n >= 0 for n in account["dropped"].values()), "dropped")
    _need(account["kept"] + sum(account["dropped"].values()) == account["rows"], "rows")
    for lines in account["dropped_examples"].values():
        _need(isinstance(lines, list), "dropped_examples")
        _need(all(type(line) is int for line in lines), "dropped_examples")


def _part(part: str, words: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    names = {label: f"{part}.{label}" for label in _PARTS[part]}
    found = {label: arrays[name] for label, name in names.items() if name in arrays}
    if words is None:
        _need(not found, part)
        return None
    _need(all(n in arrays or n in _OPTIONAL for n in names.values()), part)
    for array in found.values():
        _need(array.dtype in (np.int64, np.float64) and np.isfinite(array).all(), part)
    if part == "trace":
        return _trace(found, words)
    if part == "steps":
        return _steps(found, words)
    _need(found["lengths"].dtype == np.int64 and bool((np.diff(found["lengths"]) > 0).all()), part)
    _need(len(found["lengths"]) == len(found["counts"]) and (found["counts"] >= 0).all(), part)
    _need(set(words) == {"what", "is_share"} and type(words["is_share"]) is bool, part)
    return LengthHistogram(**found, what=_text(words["what"], part), is_share=words["is_share"])


def _trace(found: dict[str, NDArray[Any]], words: dict[str, Any]) -> Trace:
    for label, array in found.items():
        _need(array.dtype == (np.float64 if label == "arrival_s" else np.int64), f"trace.{label}")
        _need(bool((array >= 0).all()), f"trace.{label}")
    arrival = found.get("arrival_s")
    _need(arrival is None or bool((np.diff(arrival) >= 0).all()), "trace.arrival_s")
    _need(set(words) == {"name"}, "trace")
    return Trace(**found, name=_text(words["name"], "trace.name"))


def _steps(found: dict[str, NDArray[Any]], words: dict[str, Any]) -> StepHistogram:
    _need(all(array.dtype == np.int64 for array in found.values()), "steps")
    _need(set(words) <= {"unit", "origin", "duration_s", "source", "decode_only"}, "steps")
    duration, decode_only = words.get("duration_s"), words.get("decode_only", False)
    _need(duration is None or isinstance(duration, (int, float)), "steps.duration_s")
    _need(type(decode_only) is bool, "steps.decode_only")
    return StepHistogram(
        **found,
        unit=SizeUnit(words["unit"]),
        origin=Origin(words["origin"]),
        duration_s=duration,
        source=_text(words["source"], "steps.source"),
        decode_only=decode_only,
    )


def _text(value: Any, where: str) -> str:
    _need(isinstance(value, str), where)
    return value


def _need(good: Any, where: str) -> None:
    if not good:
        raise RecordError(f"The workload's account: {where} does not hold what it should.")
