"""Measuring records to and from JSON, checked field by field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from enum import StrEnum
from typing import Any

from core.errors import RecordError
from core.records.cost import PoolPolicy
from core.records.engine import EngineFacts, EngineSpec
from core.records.measuring import (
    PROFILE_FORMAT,
    CaptureMode,
    DeviceInfo,
    MeasureRow,
    MeasureSpec,
    ModelShape,
    Profile,
)
from core.records.plain import from_plain

ONLY_WHERE_THERE = frozenset(
    {"engine", "eager_card_us", "replay_card_us", "beyond_us", "mode", "padded"}
)
"""Fields that are left out where they are None: only engines that are driven have them."""


def to_json_dict(record: Any) -> dict[str, Any]:
    """A record without arrays as plain JSON types.

    Raises RecordError on NaN or infinity, which JSON cannot carry between languages.
    """
    result = asdict(record, dict_factory=_present)
    try:
        json.dumps(result, allow_nan=False)
    except ValueError as error:
        raise RecordError(f"{type(record).__name__}: {error}.") from error
    return result


def _present(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {k: v for k, v in items if v is not None or k not in ONLY_WHERE_THERE}


def _checked(cls: type, data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise RecordError(f"{where}: an object was expected, got {type(data).__name__}.")
    known = {f.name for f in fields(cls)}
    unknown = sorted(set(data) - known)
    if unknown:
        raise RecordError(
            f"{where}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}."
        )
    return dict(data)


def _text(data: Mapping[str, Any], key: str, where: str) -> None:
    if key in data and not isinstance(data[key], str):
        raise RecordError(f"{where}: {key} is {data[key]!r}; a text is expected.")


def _number(
    data: Mapping[str, Any], key: str, where: str, whole: bool = False, required: bool = False
) -> None:
    value = data.get(key)
    if value is None and not required:
        return
    kinds = int if whole else (int, float)
    good = isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)
    if not good:
        kind = "a whole number" if whole else "a number"
        raise RecordError(f"{where}: {key} is {value!r}; {kind} is expected.")


def _build(cls: type, data: dict[str, Any], where: str) -> Any:
    try:
        return cls(**data)
    except TypeError as error:
        raise RecordError(f"{where}: {error}.") from error


def _chosen(choices: type[StrEnum], value: Any, where: str) -> Any:
    try:
        return choices(value)
    except ValueError as error:
        known = [choice.value for choice in choices]
        raise RecordError(f"{where} is {value!r}; use one of {known}.") from error


def spec_from_json(data: Any, where: str = "spec") -> MeasureSpec:
    """Raises RecordError (shape of the record) or InputError (a value out of range)."""
    values = _checked(MeasureSpec, data, where)
    if "sizes" not in values:
        raise RecordError(f'{where}: field "sizes" is missing; give one such as [1, 2, 4].')
    if not isinstance(values.get("sizes"), Sequence) or isinstance(values["sizes"], str):
        raise RecordError(
            f"{where}: sizes is {values.get('sizes')!r}; a list of integers is expected."
        )
    for size in values["sizes"]:
        if not isinstance(size, int) or isinstance(size, bool):
            raise RecordError(f"{where}: sizes holds {size!r}; a list of integers is expected.")
    _text(values, "target", where)
    for key in ("context_tokens", "block_size_tokens", "samples", "warmup", "seed"):
        if key in values:
            _number(values, key, where, whole=True, required=True)
    if values.get("warmup", 0) < 0:
        raise RecordError(f"{where}: warmup is {values['warmup']}; 0 or more is expected.")
    if "model" in values:
        model = _checked(ModelShape, values["model"], f"{where}.model")
        for key in ("name", "dtype"):
            _text(model, key, f"{where}.model")
        for key, value in model.items():
            if key not in ("name", "dtype"):
                _number(model, key, f"{where}.model", whole=True)
                if value is None or value < 1:
                    raise RecordError(f"{where}.model: {key} is {value!r}; 1 or more is expected.")
        values["model"] = _build(ModelShape, model, f"{where}.model")
    for key, choices in (("pool_policy", PoolPolicy), ("capture", CaptureMode)):
        if key in values:
            values[key] = _chosen(choices, values[key], f"{where}: {key}")
    values["sizes"] = tuple(values["sizes"])
    if values.get("engine") is not None:
        values["engine"] = engine_from_json(values["engine"], f"{where}.engine")
    return _build(MeasureSpec, values, where)


def engine_from_json(data: Any, where: str = "engine") -> EngineSpec:
    """Raises RecordError (an unknown setting, a wrong type) or SettingError (out of range).

    config may be a config.json's object itself.
    """
    if not isinstance(data, Mapping):
        raise RecordError(f"{where}: an object was expected, got {type(data).__name__}.")
    plain = _as_json(data, where)
    if isinstance(plain.get("config"), dict):
        plain["config"] = json.dumps(plain["config"], sort_keys=True)
    return from_plain(EngineSpec, plain, where)


def _as_json(data: Any, where: str) -> Any:
    """The same with lists for tuples. Raises RecordError for what JSON does not hold."""
    try:
        return json.loads(json.dumps(data))
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{where}: {error}.") from error


def row_from_json(data: Any, where: str = "row") -> MeasureRow:
    """Raises RecordError."""
    values = _checked(MeasureRow, data, where)
    for key in values:
        if key not in ("nodes", "equal", "error", "mode"):
            _number(values, key, where, whole=key in ("size", "samples", "pieces", "padded"))
    if values.get("mode") is not None:
        _text(values, "mode", where)
    if not isinstance(values.get("size"), int) or values["size"] < 1:
        raise RecordError(f"{where}: size is {values.get('size')!r}; 1 or more is expected.")
    return _build(MeasureRow, values, where)


def profile_from_json(data: Any, where: str = "profile") -> Profile:
    """Raises RecordError; a newer format is refused by name."""
    values = _checked(Profile, data, where)
    if values.get("format") != PROFILE_FORMAT:
        raise RecordError(
            f"{where}: format is {values.get('format')!r}, this version reads {PROFILE_FORMAT}; "
            "measure again or update Bucketwise."
        )
    for key in ("device", "spec", "rows", "measured_at"):
        if key not in values:
            raise RecordError(f"{where}: field {key!r} is missing.")
    if not isinstance(values["rows"], Sequence) or isinstance(values["rows"], str):
        raise RecordError(f"{where}: rows must be a list.")
    device = _checked(DeviceInfo, values["device"], f"{where}.device")
    values["device"] = _build(DeviceInfo, device, f"{where}.device")
    values["spec"] = spec_from_json(values["spec"], f"{where}.spec")
    if values.get("engine") is not None:
        engine = _as_json(values["engine"], f"{where}.engine")
        values["engine"] = from_plain(EngineFacts, engine, f"{where}.engine")
    values["rows"] = tuple(
        row_from_json(row, f"{where}.rows[{i}]") for i, row in enumerate(values["rows"])
    )
    return _build(Profile, values, where)
