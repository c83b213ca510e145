"""Rows of a delimited block to numbers in one pass, compiled with numba.

Imported only where that pays. Whatever it does not know (quotes, blanks, thousands, other dates)
makes it give up on the block, and the other parsers take it: the result is the same.
"""

from __future__ import annotations

import numba
import numpy as np

SKIP, WHOLE, DECIMAL, STAMP = 0, 1, 2, 3
"""What a column holds: not needed, a whole number, a number, "YYYY-MM-DD hh:mm:ss[.fffffffff]"."""

_NEWLINE, _RETURN, _QUOTE, _HASH = 10, 13, 34, 35
_ZERO, _NINE, _DOT, _DASH, _COLON, _T, _SPACE = 48, 57, 46, 45, 58, 84, 32


@numba.njit(cache=True, inline="always")
def _at(block, place):  # type: ignore[no-untyped-def]
    """A byte; an unsigned index spares the test for counting from the end."""
    return block[np.uint64(place)]


@numba.njit(cache=True, nogil=True)
def scan(block, delimiter, kinds, ints, floats):  # type: ignore[no-untyped-def]
    """Fill ints[column, row] and floats[column, row]; return the rows, or -1 to give up.

    block : (n,) uint8, whole lines. kinds : (k,) of SKIP.. a column.
    ints : (k, rows) int64, for WHOLE and STAMP (nanoseconds since 1970). floats : for DECIMAL.
    """
    size, width = block.size, kinds.size
    place, row = 0, 0
    while place < size:
        if _at(block, place) == _HASH or row >= ints.shape[1]:
            return -1
        for column in range(width):
            kind = kinds[column]
            start = place
            if kind == SKIP:
                while (
                    place < size
                    and _at(block, place) != delimiter
                    and _at(block, place) != _NEWLINE
                ):
                    if _at(block, place) == _QUOTE:
                        return -1
                    place += 1
            elif kind == WHOLE:
                value = np.int64(0)
                while place < size and _ZERO <= _at(block, place) <= _NINE:
                    value = value * 10 + (_at(block, place) - _ZERO)
                    place += 1
                if place == start or place - start > 18:
                    return -1
                ints[column, row] = value
            elif kind == DECIMAL:
                place = _decimal(block, place, floats, column, row)
                if place < 0:
                    return -1
            else:
                place = _stamp(block, place, ints, column, row)
                if place < 0:
                    return -1
            if place < size and _at(block, place) == _RETURN and column == width - 1:
                place += 1
            end = _NEWLINE if column == width - 1 else delimiter
            if place >= size or _at(block, place) != end:
                return -1
            place += 1
        row += 1
    return row


@numba.njit(cache=True)
def _decimal(block, place, floats, column, row):  # type: ignore[no-untyped-def]
    """A number of at most 15 digits, which a float holds exactly up to its power of ten."""
    start, value, digits, scale = place, np.int64(0), 0, 0
    seen_dot = False
    while place < block.size:
        sign = _at(block, place)
        if _ZERO <= sign <= _NINE:
            value = value * 10 + (sign - _ZERO)
            digits += 1
            scale += seen_dot
        elif sign == _DOT and not seen_dot:
            seen_dot = True
        else:
            break
        place += 1
    if digits == 0 or digits > 15 or place - start > 17:
        return -1
    power = 1.0
    for _ in range(scale):
        power *= 10.0
    floats[column, row] = value / power
    return place


@numba.njit(cache=True, inline="always")
def _digit(block, place):  # type: ignore[no-untyped-def]
    """A digit's value; more than 9 for anything else."""
    return np.int64(np.uint8(_at(block, place) - np.uint8(_ZERO)))


@numba.njit(cache=True)
def _stamp(block, place, ints, column, row):  # type: ignore[no-untyped-def]
    """A date and time without a zone as nanoseconds since 1970; years 1900 to 2200."""
    if place + 20 > block.size:
        return -1
    a, b, c, d = (
        _digit(block, place),
        _digit(block, place + 1),
        _digit(block, place + 2),
        _digit(block, place + 3),
    )
    worst = max(a, b, c, d)
    full = a * 1000 + b * 100 + c * 10 + d
    a, b, c, d = (
        _digit(block, place + 5),
        _digit(block, place + 6),
        _digit(block, place + 8),
        _digit(block, place + 9),
    )
    worst = max(worst, a, b, c, d)
    month, day = a * 10 + b, c * 10 + d
    a, b, c, d = (
        _digit(block, place + 11),
        _digit(block, place + 12),
        _digit(block, place + 14),
        _digit(block, place + 15),
    )
    worst = max(worst, a, b, c, d)
    hour, minute = a * 10 + b, c * 10 + d
    a, b = _digit(block, place + 17), _digit(block, place + 18)
    worst = max(worst, a, b)
    second = a * 10 + b
    good_signs = (
        (_at(block, place + 4) == _DASH)
        & (_at(block, place + 7) == _DASH)
        & (_at(block, place + 13) == _COLON)
        & (_at(block, place + 16) == _COLON)
        & ((_at(block, place + 10) == _SPACE) | (_at(block, place + 10) == _T))
    )
    if worst > 9 or not good_signs:
        return -1
    leap = full % 4 == 0 and (full % 100 != 0 or full % 400 == 0)
    longest = 31 if month in (1, 3, 5, 7, 8, 10, 12) else 30
    if month == 2:
        longest = 29 if leap else 28
    if not (1900 <= full <= 2200 and 1 <= month <= 12 and 1 <= day <= longest):
        return -1
    if hour > 23 or minute > 59 or second > 59:
        return -1
    place += 19
    fraction, unit = np.int64(0), np.int64(1_000_000_000)
    if _at(block, place) == _DOT:
        place += 1
        start = place
        while place < block.size and _ZERO <= _at(block, place) <= _NINE:
            unit //= 10
            fraction += (_at(block, place) - _ZERO) * unit
            place += 1
        if place == start or place - start > 9:
            return -1
    # days since 1970, counted in years that begin in March
    shifted = full - (month <= 2)
    era_year = (month + 9) % 12
    days = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400
    days += (era_year * 306 + 5) // 10 + day - 1 - 719468
    seconds = days * 86400 + hour * 3600 + minute * 60 + second
    ints[column, row] = seconds * 1_000_000_000 + fraction
    return place
