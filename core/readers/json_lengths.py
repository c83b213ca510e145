"""JSON without requests: arrays of lengths or pairs, and {length: count}."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.errors import FileContentError
from core.readers.common.arrays import ROLES, array_reading
from core.readers.common.cells import count_of, plain_number
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.requests import Notes, no_rows
from core.readers.common.source import Source
from core.readers.common.weights import Weights, histogram_reading, parse_weight
from core.readers.options import ReadOptions
from core.readers.reading import Reading

LENGTH_KEYS = ("length", "len", "tokens", "size", "batch", "batch_size", "prompt_tokens")
COUNT_KEYS = ("count", "freq", "frequency", "requests", "n", "steps", "num_requests")
UNEVEN = "item of another shape"


def detect(head: Head, options: ReadOptions) -> bool:
    shape = head.json
    if shape is None or shape.lines:
        return False
    document = shape.document
    if isinstance(document, dict):
        return _is_counts(document)
    if not isinstance(document, list) or not document:
        return False
    return _is_row(document[0]) or _pair_keys(document[0]) is not None


def read_json_lengths(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Numbers are prompts, pairs prompt and output, triples arrival, prompt and output."""
    document = head.json.document if head.json else None
    if isinstance(document, dict):
        return _counts(list(document.items()), source.name, options)
    assert isinstance(document, list)
    keys = _pair_keys(document[0])
    if keys is not None:
        pairs = [(d.get(keys[0]), d.get(keys[1])) if isinstance(d, dict) else (None, None)
                 for d in document]  # fmt: skip
        return _counts(pairs, source.name, options, keys[0])
    return _array(document, source.name, options)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_row(item: Any) -> bool:
    if isinstance(item, list):
        return len(item) in ROLES and all(_is_number(value) or value is None for value in item)
    return _is_number(item) or item is None


def _is_counts(document: dict[Any, Any]) -> bool:
    """Most keys are numbers and most values are numbers: {"17": 1203}."""
    if not document:
        return False
    good = sum(
        plain_number(str(key)[:40]) is not None and _is_number(value)
        for key, value in document.items()
    )
    return 2 * good > len(document)


def _pair_keys(item: Any) -> tuple[str, str] | None:
    if not isinstance(item, dict):
        return None
    length = next((key for key in LENGTH_KEYS if key in item), None)
    count = next((key for key in COUNT_KEYS if key in item), None)
    return (length, count) if length and count and len(item) <= 4 else None


def _counts(
    pairs: list[tuple[Any, Any]], name: str, options: ReadOptions, key: str = "length"
) -> Reading:
    drops, weights = Drops(), Weights()
    said = "batch" if key.startswith("batch") else None
    for number, (length, count) in enumerate(pairs, 1):
        size = count_of(length, "length")
        weight = parse_weight(count)
        if isinstance(size, int) and size < 1:
            size = "length is below 1"
        reason = size if isinstance(size, str) else weight
        if isinstance(reason, str):
            drops.add(reason, number)
        else:
            weights.add(int(size), float(weight))
    if not weights.lengths:
        raise no_rows(name, FORMAT.label, drops)
    kind = options.histogram_of or said
    return histogram_reading(
        FORMAT.name, FORMAT.label, name, {"length": weights}, kind or "prompt", kind is not None,
        drops,
    )  # fmt: skip


def _array(items: list[Any], name: str, options: ReadOptions) -> Reading:
    width = len(items[0]) if isinstance(items[0], list) else 0
    quick = _quickly(items)
    if quick is not None:
        return array_reading(quick, FORMAT.name, FORMAT.label, name, options, Notes())
    good, drops = [], Drops()
    for number, item in enumerate(items, 1):
        fits = _is_row(item) and (len(item) if isinstance(item, list) else 0) == width
        if fits:
            good.append(item)
        else:
            drops.add(UNEVEN, number)
    if drops.total > len(good):
        raise FileContentError(
            f"{name}: an array whose items differ in shape; give numbers, or pairs of prompt and "
            "output."
        )
    reading = array_reading(_floats(good), FORMAT.name, FORMAT.label, name, options, Notes())
    if not drops.total:
        return reading
    dropped = {**reading.dropped, **drops.counts}
    examples = {**reading.dropped_examples, **drops.examples}
    values = {**vars(reading), "rows": reading.rows + drops.total}
    return Reading(**{**values, "dropped": dropped, "dropped_examples": examples})


def _quickly(items: list[Any]) -> Any:
    """The array where all items are numbers, or lists of as many; None otherwise."""
    try:
        array = np.array(items)
    except (ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "iuf" and array.ndim in (1, 2) else None


def _floats(rows: list[Any]) -> Any:
    """Numbers as 64-bit floats; null is NaN, and what no float holds is infinite."""
    try:
        return np.array(rows, np.float64)
    except OverflowError:
        flat = [row if isinstance(row, list) else [row] for row in rows]
        safe = [[v if v is None or abs(v) < 1e300 else float("inf") for v in row] for row in flat]
        array = np.array(safe, np.float64)
        return array if isinstance(rows[0], list) else array[:, 0]


FORMAT = Format("json-lengths", "JSON of lengths or counts", detect, read_json_lengths, rank=50)
