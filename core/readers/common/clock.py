"""Arrivals as files write them -> seconds since the first one.

Numbers: by unit, found as said under `unit_of`. Texts: ISO 8601; without a zone they are UTC.
Integers are subtracted before they become floats, so that epoch nanoseconds keep their last digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.records import FloatArray, IntArray

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
UNIT_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_EPOCH_NS = 1e17
_EPOCH_US = 1e14
_EPOCH_MS = 1e11
_EPOCH_S = 1e9
MAX_CHARS = 64
"""No date is longer; what is, is text."""
ABSURD_RPS = 1e4
"""More requests a second than any single trace has: the unit is wrong."""

SLOW_S = 3600
USUAL_GAP_S = 0.3
"""Between requests of one server, within a factor of ten either way in published traces."""

_NS_BOUNDS = (np.datetime64("1678-01-01"), np.datetime64("2262-01-01"))


def unit_of(typical: float) -> tuple[str, bool]:
    """(unit, whether counted from 1970) of a numeric arrival, by its magnitude.

    Above 1e17 nanoseconds, 1e14 microseconds, 1e11 milliseconds, 1e9 seconds since 1970; anything
    smaller is seconds from some start. Large values that more than double within the file are no
    dates: see `unit_by_spacing`.
    """
    size = abs(typical)
    for bound, unit in ((_EPOCH_NS, "ns"), (_EPOCH_US, "us"), (_EPOCH_MS, "ms"), (_EPOCH_S, "s")):
        if size >= bound:
            return unit, True
    return "s", False


def _from_a_start(values: NDArray[Any]) -> bool:
    """Whether large values are counted from some start: dates of our time do not double."""
    low, high = float(values.min()), float(values.max())
    return high >= _EPOCH_S and low < high / 2


def unit_by_spacing(values: NDArray[Any]) -> str:
    """The unit that puts arrivals nearest to USUAL_GAP_S apart; seconds up to SLOW_S apart.

    values : (n,) arrivals counted from some start, in an unknown unit
    """
    gap = float(values.max() - values.min()) / max(len(values) - 1, 1)
    if gap <= SLOW_S:
        return "s"
    return min(PER_SECOND, key=lambda unit: abs(math.log(gap / PER_SECOND[unit] / USUAL_GAP_S)))


class Clock:
    """Turns blocks of raw arrivals into seconds since the first value it was given.

    wanted : the user's choice, "auto" where there is none
    known : the unit that the format or the column's name says; None to judge by magnitude
    """

    def __init__(self, wanted: str = "auto", known: str | None = None) -> None:
        self._unit = wanted if wanted != "auto" else known
        self._said_by = "you" if wanted != "auto" else ("the file" if known else "magnitude")
        self._origin: Any = None
        self._epoch = False
        self.zoned = 0
        self.zoneless = 0
        self.is_text = False

    @property
    def unit(self) -> str | None:
        return self._unit

    def numbers(self, values: NDArray[Any]) -> FloatArray:
        """(n,) int64 or float64 -> (n,) [s]."""
        if len(values) == 0:
            return np.empty(0)
        if self._origin is None:
            unit, self._epoch = unit_of(float(np.median(values)))
            if self._unit is None and _from_a_start(values):
                unit, self._epoch = unit_by_spacing(values), False
            self._unit = self._unit or unit
            self._origin = values[0].item()
        scale = PER_SECOND[self._unit or "s"]
        if values.dtype.kind == "i" and isinstance(self._origin, int):
            return (values - self._origin) / scale
        return (values.astype(np.float64) - float(self._origin)) / scale

    def texts(self, cells: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        """(n,) ISO times -> (n,) [s] and which of them could be read; the others are NaN."""
        self.is_text = True
        stamps, good = self._parse(cells)
        seconds = np.full(len(stamps), np.nan)
        if good.any():
            if self._origin is None:
                self._origin = stamps[good][0].item()
            seconds[good] = (stamps[good] - self._origin) / 10**9
        return seconds, good

    def zoneless_ns(self, values: IntArray) -> FloatArray:
        """(n,) nanoseconds since 1970 of dates without a zone -> (n,) [s]."""
        self.is_text = True
        self.zoneless += len(values)
        if len(values) == 0:
            return np.empty(0)
        origin = values[0].item() if self._origin is None else self._origin
        self._origin = origin
        return (values - origin) / 10**9

    def stamps(self, values: IntArray, per_second: int, good: NDArray[np.bool_]) -> FloatArray:
        """(n,) timestamps of `per_second` ticks since 1970 -> (n,) [s]; 0 where not good."""
        self.is_text = True
        if self._origin is not None and good.all():
            return (values - self._origin) / per_second
        seconds = np.zeros(len(values))
        if good.any():
            if self._origin is None:
                self._origin = values[good][0].item()
            seconds[good] = (values[good] - self._origin) / per_second
        return seconds

    def _parse(self, cells: Any) -> tuple[IntArray, NDArray[np.bool_]]:
        import pandas as pd

        series = pd.Series(cells, dtype="str")
        if len(series) and series.str.len().max() > MAX_CHARS:
            series = series.str.slice(0, MAX_CHARS)
        quick = _plain_dates(series)
        if quick is not None:
            self.zoneless += len(series)
            return quick, np.ones(len(quick), bool)
        try:
            stamps = pd.to_datetime(series, format="ISO8601", errors="coerce")
            zoned = len(series) if stamps.dt.tz is not None else 0
        except ValueError:  # some rows have a zone and some have none
            stamps = pd.to_datetime(series, format="ISO8601", errors="coerce", utc=True)
            zoned = int(series.str.contains(r"(?:[Zz]|[+-]\d\d:?\d\d)\s*$", regex=True).sum())
        self.zoned += zoned
        self.zoneless += len(series) - zoned
        result, good = _nanoseconds(stamps)
        if not good.all():
            result[~good], good[~good] = _nanoseconds(_second_try(series[~good]))
        return result, good

    @property
    def description(self) -> str:
        """How arrivals were read, e.g. "milliseconds since 1970 (by their magnitude)"."""
        if self.is_text:
            return "dates and times" + ("" if self.zoned else ", read as UTC")
        words = UNIT_WORDS[self._unit or "s"] + (" since 1970" if self._epoch else "")
        reason = {"you": "as you chose", "the file": "as the format or column says"}
        return f"{words} ({reason.get(self._said_by, 'judged by their size')})"

    @property
    def warnings(self) -> list[str]:
        if self.zoned and self.zoneless:
            return [
                f"{self.zoned:,} arrivals have a time zone and {self.zoneless:,} have none; "
                "those without were read as UTC."
            ]
        return []


def _plain_dates(series: Any) -> IntArray | None:
    """(n,) nanoseconds of texts that are all ISO dates without a zone; None otherwise."""
    import pyarrow as pa

    try:
        stamps = pa.array(series).cast(pa.timestamp("ns"))
    except pa.ArrowInvalid:
        return None
    return None if stamps.null_count else stamps.view(pa.int64()).to_numpy()


def _nanoseconds(stamps: Any) -> tuple[IntArray, NDArray[np.bool_]]:
    """Datetimes -> (n,) nanoseconds since 1970, and which of them could be read."""
    if stamps.dt.tz is not None:
        stamps = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
    raw = stamps.to_numpy()
    good = ~np.isnat(raw) & (raw > _NS_BOUNDS[0]) & (raw < _NS_BOUNDS[1])
    result = np.zeros(len(raw), np.int64)
    result[good] = raw[good].astype("datetime64[ns]").astype(np.int64)
    return result, good


def _second_try(series: Any) -> Any:
    """Near-ISO spellings: slashes, a comma before the fraction, "UTC" in words."""
    import pandas as pd

    text = series.str.strip().str.replace("/", "-").str.replace(",", ".")
    text = text.str.replace(r"\s*(?:UTC|GMT)$", "", regex=True)
    return pd.to_datetime(text, format="ISO8601", errors="coerce", utc=True)


def spread_ticks(arrival_s: FloatArray) -> FloatArray:
    """Requests on one instant spread evenly up to the next one, in their order.

    arrival_s : (n,) nondecreasing [s]. The k-th of m requests at t moves to t + k/m x gap; the last
    instant uses the median gap. Returns (n,) nondecreasing [s].
    """
    if len(arrival_s) == 0:
        return arrival_s
    instants, first, counts = np.unique(arrival_s, return_index=True, return_counts=True)
    if len(instants) < 2:
        return arrival_s
    gaps = np.diff(instants)
    gaps = np.append(gaps, np.median(gaps))
    place = np.arange(len(arrival_s)) - np.repeat(first, counts)
    return arrival_s + place / np.repeat(counts, counts) * np.repeat(gaps, counts)
