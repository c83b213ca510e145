"""Columns of Arrow, of any type -> counts, seconds or texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ColumnMappingError
from core.readers.common.arrays import mark_counts
from core.readers.common.cells import parse_count
from core.readers.common.clock import PER_SECOND, Clock
from core.readers.common.columns import label_of
from core.readers.common.reasons import Reasons
from core.records import FloatArray, IntArray


def _plain(array: Any) -> Any:
    """Without dictionary coding."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def arrow_counts(array: Any, role: str, reasons: Reasons, zero_reason: str) -> IntArray:
    """(n,) counts [tokens]; rows that hold none are marked, and 0 in the result.

    Raises ColumnMappingError for a column that can hold no counts at all.
    """
    import pyarrow as pa

    array, label = _plain(array), label_of(role)
    kind = array.type
    if _is_text(kind):
        return _from_texts(array, role, label, reasons, zero_reason)
    if pa.types.is_decimal(kind):
        array = array.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise ColumnMappingError(f"A column of {kind} cannot hold {label}; choose another column.")
    if array.null_count:
        reasons.mark(_mask(array), f"{label} is blank")
        if pa.types.is_null(kind):
            return np.zeros(len(array), np.int64)
        array = array.fill_null(1)
    values = array.to_numpy(zero_copy_only=False)
    mark_counts(values, role, reasons)
    if values.dtype.kind == "f":
        values = np.where(np.isfinite(values) & (np.abs(values) < 2**62), values, 0)
    return values.astype(np.int64, copy=False)


def _from_texts(array: Any, role: str, label: str, reasons: Reasons, zero_reason: str) -> IntArray:
    import pandas as pd

    codes, distinct = pd.factorize(np.array(array.fill_null("").to_pylist(), object))
    parsed = [parse_count(str(text), label) for text in distinct]
    for reason in dict.fromkeys(p for p in parsed if isinstance(p, str)):
        reasons.mark(np.array([p == reason for p in parsed])[codes], reason)
    values = np.array([p if isinstance(p, int) else 1 for p in parsed], np.int64)[codes]
    if role == "output_tokens":
        reasons.mark(values == 0, zero_reason)
    reasons.mark(values < 1, f"{label} is below 1")
    return values


def _mask(array: Any) -> NDArray[np.bool_]:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), bool)


def arrow_times(array: Any, clock: Clock, reasons: Reasons) -> FloatArray:
    """(n,) [s] by the clock; rows without a time are marked. Zones are taken into account."""
    import pyarrow as pa

    array = _plain(array)
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("us"))
    kind = array.type
    blank = _mask(array) if array.null_count else None
    if blank is not None:
        reasons.mark(blank, "arrival is blank")
        array = array.fill_null("" if _is_text(kind) else pa.scalar(0, pa.int64()).cast(kind))
    if pa.types.is_timestamp(kind):
        raw = array.cast(pa.timestamp(kind.unit)).view(pa.int64()).to_numpy(zero_copy_only=False)
        good = np.ones(len(raw), bool) if blank is None else ~blank
        return clock.stamps(raw, PER_SECOND[kind.unit], good)
    if _is_text(kind):
        seconds, good = clock.texts(array.to_pylist())
        reasons.mark(~good, "arrival is not a time")
        return np.nan_to_num(seconds)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise ColumnMappingError(f"A column of {kind} cannot hold arrivals; choose another column.")
    values = array.to_numpy(zero_copy_only=False)
    is_float = values.dtype.kind == "f"
    if is_float:
        reasons.mark(~np.isfinite(values), "arrival is not a time")
        values = np.nan_to_num(values, posinf=0.0, neginf=0.0)
    good = slice(None) if blank is None else ~blank
    result = np.zeros(len(values))
    result[good] = clock.numbers(values[good].astype(np.float64 if is_float else np.int64))
    return result


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def arrow_texts(array: Any) -> Any:
    """A pandas column of texts; nulls are empty, numbers are written out."""
    import pandas as pd
    import pyarrow as pa

    plain = _plain(array)
    if not _is_text(plain.type):
        plain = pa.array(["" if v is None else str(v) for v in plain.to_pylist()])
    return pd.Series(plain.fill_null("").to_pylist(), dtype="str")
