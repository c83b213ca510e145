"""Any JSON or JSON Lines with an object a request: keys by name or by the user's choice.

Also columns of one object: {"prompt_tokens": [...], "output_tokens": [...]}.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core.errors import ColumnMappingError
from core.readers.common import columns
from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.record_form import RecordForm, read_records
from core.readers.common.records_in import RecordCollector, dig
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.plain_csv import MODEL_COLUMNS, failed_status, is_status
from core.readers.reading import Reading

MAX_DEPTH = 3
MAX_NAMES = 400
ROLES = ("arrival", "prompt_tokens", "output_tokens")


def detect(head: Head, options: ReadOptions) -> bool:
    names = _names(head)
    if set(options.columns) & {"prompt_tokens", "output_tokens"} and names:
        return True
    found = _match(names, head)
    return "prompt_tokens" in found or "output_tokens" in found


def read_plain_json(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Raises ColumnMappingError when a key does not exist."""
    names = _names(head)
    mapping = {role: names[index] for role, index in _match(names, head).items()}
    for role, name in options.columns.items():
        mapping[role] = names[columns.index_of(names, name, role, source.name)]
    mapping = {role: mapping[role] for role in ROLES if role in mapping}
    if {"prompt_tokens", "output_tokens"} - set(mapping):
        missing = next(r for r in ("prompt_tokens", "output_tokens") if r not in mapping)
        raise ColumnMappingError(
            f"{source.name}: no key says how many {columns.label_of(missing)} a request has; "
            f"choose it among {columns.listed(names)}.",
            columns=tuple(names),
        )
    if _is_columnar(head):
        return _columnar(source, head, mapping, names, options)
    keys = {columns.plain(name): name for name in names}
    status = [name for name in names if is_status(name)]
    model = next((keys[key] for key in MODEL_COLUMNS if key in keys), None)
    form = RecordForm(
        FORMAT.name,
        FORMAT.label,
        mapping,
        rule=lambda row: next(
            (reason for key in status if (reason := failed_status(str(dig(row, key))))), None
        ),
        model=model,
    )
    return read_records(source, head, form, ReadOptions(**{**vars(options), "columns": {}}))


def _names(head: Head) -> list[str]:
    """Paths of the numbers and texts in the first objects, outer ones first."""
    seen: dict[str, None] = {}
    for row in (head.json.sample if head.json else [])[:20]:
        for path in _paths(row, "", 0):
            if len(seen) < MAX_NAMES:
                seen.setdefault(path)
    return list(seen)


def _paths(row: dict[str, Any], prefix: str, depth: int) -> Iterator[str]:
    inner = []
    for key, value in list(row.items())[:200]:
        path = f"{prefix}{key}"
        if isinstance(value, dict) and depth < MAX_DEPTH:
            inner.append((value, path))
        else:
            yield path
    for value, path in inner:
        yield from _paths(value, f"{path}.", depth + 1)


def _match(names: list[str], head: Head) -> dict[str, int]:
    """By the last word of each path; a short name such as "prompt" counts only with numbers."""
    found = columns.match([name.rsplit(".", 1)[-1] for name in names])
    rows = head.json.sample if head.json else []
    for role in ("prompt_tokens", "output_tokens"):
        if role in found and not _holds_numbers(rows, names[found[role]]):
            del found[role]
    return found


def _holds_numbers(rows: list[dict[str, Any]], path: str) -> bool:
    for row in rows[:20]:
        value: Any = row
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return True
        if isinstance(value, str) and value.strip().isdigit():
            return True
    return False


def _is_columnar(head: Head) -> bool:
    shape = head.json
    return (
        shape is not None
        and not shape.lines
        and isinstance(shape.document, dict)
        and any(isinstance(value, list) for value in shape.document.values())
    )


def _columnar(
    source: Source, head: Head, mapping: dict[str, str], names: list[str], options: ReadOptions
) -> Reading:
    document = head.json.document if head.json else {}
    arrays = {role: document.get(path) for role, path in mapping.items()}
    lists = {role: value if isinstance(value, list) else [] for role, value in arrays.items()}
    drops = Drops()
    clock = Clock(options.time_unit, columns.unit_in_name(mapping.get("arrival", "")))
    rows = RecordCollector(clock, drops, wants_arrival="arrival" in mapping)
    longest = max(len(value) for value in lists.values())
    for i in range(longest):
        cells = {role: value[i] if i < len(value) else None for role, value in lists.items()}
        rows.add(i + 1, cells["prompt_tokens"], cells["output_tokens"], cells.get("arrival"))
    notes = Notes(columns=mapping, all_columns=tuple(names))
    return requests_reading(
        FORMAT.name, FORMAT.label, source.name, rows.finish(), drops, notes, options
    )


FORMAT = Format("plain-json", "objects of requests (JSON)", detect, read_plain_json, rank=60)
